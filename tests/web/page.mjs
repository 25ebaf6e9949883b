// page.mjs PAGE.html QUESTION: run the script of a page without a browser, and print as JSON what
// QUESTION, an expression over `app` and `text(id)`, gives.  The document is a stand-in whose
// elements keep text, children and attributes and accept every other call.
import { readFileSync } from "node:fs";

const html = readFileSync(process.argv[2], "utf8");
const part = (start) => {
  const from = html.indexOf(">", html.indexOf(start)) + 1;
  return html.slice(from, html.indexOf("</script>", from));
};

const quiet = new Proxy(function () {}, {
  get: (_, key) => key === Symbol.toPrimitive ? () => 0 : quiet, apply: () => quiet, set: () => true,
});

class Element {
  constructor() {
    this.children = [];
    this.own = "";
    this.attributes = {};
    this.dataset = {};
    this.style = quiet;
    this.classList = quiet;
    this.clientWidth = 1000;
    this.clientHeight = 600;
    this.scrollTop = this.offsetHeight = 0;
    this.value = "";
  }

  get textContent() { return this.own + this.children.map((c) => c.textContent ?? String(c)).join(""); }
  set textContent(text) {
    this.children = [];
    this.own = text;
  }

  append(...more) { this.children.push(...more); }
  replaceChildren(...more) {
    this.textContent = "";
    this.append(...more);
  }

  insertCell() {
    this.append(new Element());
    return this.children[this.children.length - 1];
  }

  setAttribute(name, value) { this.attributes[name] = String(value); }
  removeAttribute(name) { delete this.attributes[name]; }
  querySelector(which) { return (this.found ||= {})[which] ||= new Element(); }
  querySelectorAll(which) { return which === "col" ? Array.from({ length: 6 }, () => new Element()) : []; }
  get parentElement() { return this.above ||= new Element(); }
  get firstElementChild() { return this.first ||= new Element(); }
  getContext() { return quiet; }
  addEventListener() {}
  focus() {}
  select() {}
  remove() {}
  close() {}
}

const elements = { facts: new Element(), data: new Element() };
elements.facts.own = part('<script id="facts"');
elements.data.own = part('<script id="data"');
const get = (id) => elements[id] ||= new Element();
Object.assign(globalThis, {
  window: { addEventListener() {} },
  document: { getElementById: get, createElement: () => new Element(), addEventListener() {},
              documentElement: new Element(), hidden: true, title: "" },
  location: { hash: "" }, history: { pushState() {}, replaceState() {} },
  localStorage: { getItem: () => null, setItem() {}, removeItem() {} },
  matchMedia: () => ({ matches: true, addEventListener() {} }),
  getComputedStyle: () => ({ getPropertyValue: () => "" }),
  requestAnimationFrame: () => 1, devicePixelRatio: 1,
  ResizeObserver: class { observe() {} },
  Option: class { constructor(text, value) { Object.assign(this, { textContent: text, value }); } },
});

const script = part('<script type="module"');
await import(`data:text/javascript;base64,${Buffer.from(script).toString("base64")}`);
const answer = new Function("app", "text", "get", `return ${process.argv[3]};`);
console.log(JSON.stringify(answer(window.fathom, (id) => get(id).textContent, get)));
