// A sortable table of functions; only the visible rows are in the document.
import { make } from "./elements.js";
import { formatCount, formatShare, formatWeight } from "./format.js";
import { colorOf } from "./palette.js";

const TABLE_ROW = 26, HEAD = 34, SPARE = 12;
const COLUMNS = [ // key, title, text column, width
  ["self", "Self", false, "110px"], ["self", "Self %", false, "90px"],
  ["total", "Total", false, "110px"], ["total", "Total %", false, "90px"],
  ["name", "Function", true, ""], ["module", "Module", true, "22%"],
];

export class Table {
  constructor(element, hooks) {
    this.element = element;
    this.hooks = hooks; // choose(row), point(row)
    this.at = -1; // the row that the keys point at
    this.rows = this.shown = [];
    this.sort = { key: "self", down: true };
    const table = make("table", make("colgroup", ...COLUMNS.map(() => make("col"))), make("thead", make("tr")), make("tbody"));
    table.setAttribute("aria-label", "Functions");
    element.replaceChildren(table);
    for (const [i, col] of [...element.querySelectorAll("col")].entries()) col.style.width = COLUMNS[i][3];
    this.body = element.querySelector("tbody");
    for (const [i, [key, title, text]] of COLUMNS.entries()) {
      const th = document.createElement("th"), button = document.createElement("button");
      th.dataset.column = i;
      th.className = text ? "text" : "";
      button.textContent = title;
      button.addEventListener("click", () => this.sortBy(key, text));
      th.append(button);
      element.querySelector("thead tr").append(th);
    }
    element.addEventListener("scroll", () => this.paint());
    element.addEventListener("keydown", (ev) => this.#key(ev));
    new ResizeObserver(() => this.paint()).observe(element);
    this.body.addEventListener("click", (ev) => {
      const tr = ev.target.closest("tr[data-row]");
      if (tr) this.hooks.choose(this.shown[+tr.dataset.row]);
    });
  }

  show(rows, whole, unit) {
    const counted = unit !== "ns" && unit !== "bytes";
    Object.assign(this, { rows, whole, most: { self: 1e-9, total: 1e-9 } });
    for (const key of ["self", "total"]) for (const r of rows) this.most[key] = Math.max(this.most[key], r[key]);
    this.weight = (x) => counted ? formatCount(x) : formatWeight(x, unit);
    this.element.querySelectorAll("col")[5].style.width = rows.some((r) => r.module) ? COLUMNS[5][3] : "0";
    this.element.classList.toggle("no-modules", !rows.some((r) => r.module));
    this.#arrange();
  }

  filter(pattern) {
    this.pattern = pattern;
    this.#arrange();
  }

  recolor(dark) {
    this.dark = dark;
    this.paint();
  }

  sortBy(key, text) {
    this.sort = { key, down: this.sort.key === key ? !this.sort.down : !text };
    this.#arrange();
  }

  #arrange() {
    const { key, down } = this.sort, sign = down ? -1 : 1;
    const order = (a, b) => typeof a[key] === "string" ? sign * a[key].localeCompare(b[key]) : sign * (a[key] - b[key]);
    this.shown = this.rows.filter((r) => !this.pattern || this.pattern.test(r.name)).sort((a, b) => order(a, b) || b.self - a.self);
    for (const th of this.element.querySelectorAll("th")) {
      if (COLUMNS[th.dataset.column][0] === key) th.setAttribute("aria-sort", down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    }
    this.element.scrollTop = 0;
    this.at = -1;
    this.element.firstElementChild.setAttribute("aria-rowcount", this.shown.length + 1);
    this.paint();
  }

  #key(ev) {
    const page = Math.max(Math.floor(this.element.clientHeight / TABLE_ROW) - 2, 1), last = this.shown.length - 1;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -last, End: last }[ev.key];
    if (ev.target.closest("button") || last < 0) return;
    if (step) this.point(Math.min(Math.max(this.at + step, 0), last));
    else if (ev.key === "Enter" && this.at >= 0) this.hooks.choose(this.shown[this.at]);
    else return;
    ev.preventDefault();
    ev.stopPropagation();
  }

  // Point at a row and bring it into view, below the head.
  point(at) {
    const { element } = this, top = at * TABLE_ROW, room = element.clientHeight - HEAD - TABLE_ROW;
    this.at = at;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + room) element.scrollTop = top - room;
    this.hooks.point(this.shown[at]);
    this.paint();
  }

  #line(row, i) {
    const tr = document.createElement("tr"), color = colorOf(row.name, this.hooks.kindOf(row.symbol), this.dark);
    tr.dataset.row = i;
    tr.setAttribute("aria-rowindex", i + 2);
    if (i === this.at) tr.setAttribute("aria-selected", "true");
    tr.style.setProperty("--of", color);
    const cells = [this.weight(row.self), formatShare(row.self, this.whole), this.weight(row.total),
                   formatShare(row.total, this.whole), row.name, row.module];
    cells.forEach((text, c) => {
      const td = tr.insertCell();
      td.textContent = text;
      td.className = c === 4 ? "text name" : c === 5 ? "text" : c % 2 ? "bar" : "";
      if (c > 3) td.title = text;
      if (c === 1) td.style.setProperty("--part", `${100 * row.self / this.most.self}%`);
      if (c === 3) td.style.setProperty("--part", `${100 * row.total / this.most.total}%`);
    });
    return tr;
  }

  #gap(rows) {
    const tr = document.createElement("tr"), td = tr.insertCell();
    tr.className = "gap";
    td.colSpan = COLUMNS.length;
    td.style.height = `${rows * TABLE_ROW}px`;
    return tr;
  }

  paint() {
    if (this.element.hidden || !this.whole) return;
    const first = Math.max(Math.floor(this.element.scrollTop / TABLE_ROW) - SPARE, 0);
    const last = Math.min(first + Math.ceil(this.element.clientHeight / TABLE_ROW) + 2 * SPARE, this.shown.length);
    const lines = this.shown.slice(first, last).map((row, k) => this.#line(row, first + k));
    this.body.replaceChildren(this.#gap(first), ...lines, this.#gap(this.shown.length - last));
  }
}
