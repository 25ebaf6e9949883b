// Assemble the page: controls, keys, and the state in the address.
import { readPage } from "./bytes.js";
import { make } from "./elements.js";
import { formatShare, formatWeight, formatCount, shareError, shortPath } from "./format.js";
import { kindIndex } from "./palette.js";
import { Tree } from "./tree.js";
import { groupsOf, readGroups, Weighted } from "./weights.js";
import { Inverted } from "./inverted.js";
import { Sandwich } from "./sandwich.js";
import { flatRows } from "./flat.js";
import { Flame } from "./flame.js";
import { Table } from "./table.js";
import { kindName, putQuality, subtitleOf, tagChoices, threadChoices } from "./facts.js";

const KEYS = [
  ["click, Enter", "zoom to a function"], ["Escape, 0", "reset the zoom; again: clear the search"], ["Backspace", "zoom out to the caller"], ["Alt + ←", "previous view"],
  ["arrows", "select the caller, callee or neighbor"], ["Ctrl + wheel, + −", "zoom at the pointer"], ["drag, ← → wheel", "scroll horizontally"],
  ["/", "search (regular expression)"], ["n, N", "next and previous match"], ["i", "inverted: functions first, then their callers"],
  ["s", "sandwich: callers and callees of the function"], ["f", "flip: root at the bottom"], ["t", "table or flame graph"], ["c", "copy the function's name"], ["d", "dark or light"], ["?", "these keys"],
];
const HINT = "Click a box to zoom · s callers and callees · / search · ? all keys";
const get = (id) => document.getElementById(id);

class App {
  constructor(page) {
    this.page = page;
    this.facts = page.facts;
    this.tree = new Tree(page);
    this.groups = readGroups(page);
    page.columns = null;
    this.symbols = this.tree.symbols;
    this.flame = new Flame(get("scroller"), { hover: (n) => this.describe(n), zoomed: (n, step) => this.zoomed(n, step) });
    this.table = new Table(get("table"), { choose: (row) => this.sandwich(row.symbol), point: (row) => this.describeRow(row), kindOf: (s) => this.symbols.kind[s] });
    this.heading();
    this.choices();
    this.listen();
    this.setTheme(this.storedTheme());
    this.restore();
  }

  get chosenMetric() { return this.facts.metrics[this.metric - 1] || { name: "", unit: "", exact: true }; }
  get unit() { return this.chosenMetric.unit; }

  heading() {
    const title = this.facts.title || this.facts.meta.command || "Flame graph";
    document.title = `${title} - fathom`;
    get("title").textContent = get("title").title = title;
  }

  choices() {
    const metric = get("metric");
    metric.append(...this.facts.metrics.map((m, i) => new Option(m.name, i + 1)));
    metric.parentElement.hidden = this.facts.metrics.length < 2;
  }

  threads() {
    const select = get("thread"), list = threadChoices(this.facts, this.groups, this.metric);
    this.chosen = new Map(list.map(([key, , threads]) => [key, threads]));
    if (!this.chosen.has(this.thread)) this.thread = "";
    select.replaceChildren(new Option("All threads", ""), ...list.map(([key, label]) => new Option(label, key, false, key === this.thread)));
    select.parentElement.hidden = list.length < 2;
  }

  tags() {
    const select = get("tag"), list = tagChoices(this.facts, this.groups, this.metric, this.chosen.get(this.thread));
    this.tagged = new Map(list.flatMap(([, values]) => values.map(([choice, , sets]) => [choice, sets])));
    if (!this.tagged.has(this.tag)) this.tag = "";
    select.replaceChildren(new Option("All", ""), ...list.map(([key, values]) => {
      const group = document.createElement("optgroup");
      group.label = key;
      group.append(...values.map(([choice, label]) => new Option(label, choice, false, choice === this.tag)));
      return group;
    }));
    select.parentElement.hidden = !list.length;
  }

  // Compute the weights of the selected metric, thread and tag; all views use them.
  weigh() {
    const only = this.chosen.get(this.thread);
    this.weighted = new Weighted(this.tree, groupsOf(this.facts, this.groups, this.metric, only, this.tagged.get(this.tag)));
    this.rows = this.turned = this.between = this.graph = null;
    const { name, exact, waiting } = this.chosenMetric, what = this.unit === name ? "" : ` ${name}`;
    const about = [formatWeight(this.weighted.whole, this.unit) + what, subtitleOf(this.facts)];
    if (this.unit !== "samples") about.splice(1, 0, `${formatCount(this.weighted.wholeCount)} ${exact ? "events" : waiting ? "samples and waits" : "samples"}`);
    get("subtitle").textContent = get("subtitle").title = about.filter(Boolean).join(" · ");
    this.showTab(this.tab);
  }

  // The graph that the tab shows.
  chosenGraph() {
    if (this.tab === "sandwich") return this.between ||= new Sandwich(this.weighted, this.sameFunction(this.focus));
    return this.inverted ? this.turned ||= new Inverted(this.weighted) : this.weighted;
  }

  turn() {
    const graph = this.chosenGraph();
    get("invert").setAttribute("aria-pressed", this.inverted);
    get("invert").disabled = this.tab === "sandwich";
    if (this.graph === graph) this.flame.resize();
    else this.flame.show(this.graph = graph, this.symbols);
    this.search(get("search").value);
  }

  showTab(name) {
    const within = ["scroller", "table"].includes(document.activeElement?.id);
    this.tab = name;
    get("flame").hidden = name === "table";
    get("table").hidden = name !== "table";
    for (const tab of ["flame", "sandwich", "table"]) get(`tab-${tab}`).setAttribute("aria-selected", tab === name);
    get("flame").setAttribute("aria-labelledby", `tab-${name}`);
    this.quietly(() => {
      if (name === "table") {
        this.rows ||= flatRows(this.weighted);
        this.graph ||= this.weighted;
        this.table.show(this.rows, this.weighted.whole, this.unit);
        this.search(get("search").value);
      } else this.turn();
    });
    if (within) get(name === "table" ? "table" : "scroller").focus({ focusVisible: false, preventScroll: true });
    this.remember(true);
  }

  // Change the view without adding to the history.
  quietly(change) {
    const before = this.quiet;
    this.quiet = true;
    change();
    this.quiet = before;
  }

  // By symbol, whether it is the function of SYMBOL, inlined or not.
  sameFunction(symbol) {
    const { name, module, count } = this.symbols;
    return Uint8Array.from({ length: count }, (_, s) => name[s] === name[symbol] && module[s] === module[symbol]);
  }

  // The symbol of the box under the pointer, else of the selected box; -1 when there is none.
  pointedAt() {
    const node = this.described > 0 ? this.described : Math.max(this.flame.selected, 0);
    return this.tab === "table" || (!node && this.tab === "flame") ? -1 : this.graph.symbolOf(node);
  }

  // Show the callers and callees of SYMBOL, by default of the function with the highest self cost.
  sandwich(symbol) {
    this.rows ||= flatRows(this.weighted);
    if (symbol < 0 && !this.rows.length) return;
    this.focus = symbol >= 0 ? symbol : this.rows.reduce((a, b) => b.self > a.self ? b : a).symbol;
    this.between = null;
    this.showTab("sandwich");
  }

  // --- search -------------------------------------------------------------------------------

  search(text) {
    const input = get("search");
    let pattern = null;
    input.removeAttribute("aria-invalid");
    try {
      pattern = text ? new RegExp(text, /[A-Z]/.test(text) ? "" : "i") : null;
    } catch {
      input.setAttribute("aria-invalid", "true");
    }
    this.pattern = pattern;
    this.hit = pattern ? Uint8Array.from(this.symbols.name, (name) => pattern.test(name)) : null;
    this.flame.highlight(this.hit);
    this.table.filter(pattern);
    this.countMatches();
    this.remember();
  }

  countMatches() {
    const root = Math.max(this.flame.zoomed || 0, 0);
    const matched = this.hit ? this.graph.matchedWeight(this.hit, root) : 0;
    get("matched").textContent = this.hit ? formatShare(matched, this.graph.weightOf(root)) : "";
  }

  // --- details of a box ---------------------------------------------------------------------

  describe(node) {
    const line = get("details");
    this.described = node;
    line.replaceChildren(node < 0 ? HINT : "");
    line.classList.toggle("hint", node < 0);
    if (node < 0 || !this.graph) return;
    const { graph, symbols, weighted } = this, s = graph.symbolOf(node), name = document.createElement("b");
    const all = graph.all ?? graph.whole, isFunction = node > 0 || graph === this.between;
    const add = (text, quiet = true) => {
      const span = document.createElement(quiet ? "i" : "span");
      span.textContent = text;
      line.append(" ", span);
    };
    name.textContent = symbols.name[s];
    line.append(name);
    if (symbols.module[s]) add(symbols.module[s]);
    if (symbols.file[s]) add(`${shortPath(symbols.file[s])}${symbols.line[s] ? `:${symbols.line[s]}` : ""}`);
    if (isFunction) add(kindName(kindIndex(symbols.kind[s]), this.facts));
    const { exact, waiting } = this.chosenMetric, error = shareError(graph.countOf(node), weighted.wholeCount);
    add(`${formatWeight(graph.weightOf(node), this.unit)}, ${formatShare(graph.weightOf(node), all)}` +
        `${exact || waiting || !isFunction ? "" : ` ± ${error.toFixed(error < 0.1 ? 2 : 1)}`}`, false);
    if (graph.selfOf(node) > 0 && graph !== this.turned) add(`self ${formatShare(graph.selfOf(node), all)}`, false);
    if (graph === this.between && node) add(`${formatShare(graph.weightOf(node), graph.whole)} of the function`);
    if (this.flame.zoomed > 0 && node !== this.flame.zoomed)
      add(`${formatShare(graph.weightOf(node), graph.weightOf(this.flame.zoomed))} of the zoomed function`);
  }

  describeRow(row) {
    const name = document.createElement("b"), { whole } = this.weighted;
    name.textContent = row.name;
    get("details").classList.remove("hint");
    get("details").replaceChildren(name, ` ${row.module} self ${formatWeight(row.self, this.unit)}, ${formatShare(row.self, whole)}` +
                                         ` · total ${formatWeight(row.total, this.unit)}, ${formatShare(row.total, whole)}`);
  }

  zoomed(node, step) {
    get("reset").disabled = node === 0;
    this.countMatches();
    this.remember(step);
  }

  // --- theme --------------------------------------------------------------------------------

  get systemTheme() { return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"; }

  storedTheme() {
    let stored = null;
    try {
      stored = localStorage.getItem("fathom-theme");
    } catch { /* no storage for this page */ }
    return stored || this.systemTheme;
  }

  setTheme(theme, keep) {
    document.documentElement.dataset.theme = this.theme = theme;
    this.flame.recolor(theme === "dark");
    this.table.recolor(theme === "dark");
    putQuality(get("quality"), this.facts, this.tree, theme === "dark");
    try {
      if (keep && theme === this.systemTheme) localStorage.removeItem("fathom-theme");
      else if (keep) localStorage.setItem("fathom-theme", theme);
    } catch { /* no storage for this page */ }
  }

  // --- state in the address -----------------------------------------------------------------

  // STEP: add the view to the history; otherwise replace the current entry.
  remember(step) {
    const state = new URLSearchParams();
    if (this.quiet || !this.graph) return;
    if (this.pattern) state.set("s", get("search").value);
    if (this.inverted) state.set("i", "1");
    if (this.tab !== "flame") state.set("t", this.tab);
    if (this.tab === "sandwich") state.set("o", this.focus);
    if (this.metric !== this.firstMetric) state.set("m", this.metric);
    if (this.thread) state.set("h", this.thread);
    if (this.tag) state.set("g", this.tag);
    if (this.graph === this.weighted && this.flame.zoomed > 0) state.set("z", this.flame.zoomed);
    if (`#${state}` === (location.hash || "#")) return;
    try {
      history[step ? "pushState" : "replaceState"](null, "", `#${state}`);
    } catch { /* not allowed where the page is embedded */ }
  }

  recall() {
    const state = new URLSearchParams(location.hash.slice(1)), number = (key) => Number(state.get(key) || 0);
    get("search").value = state.get("s") || "";
    this.inverted = state.has("i") || (!location.hash && this.facts.inverted);
    this.focus = state.has("o") && number("o") < this.symbols.count ? number("o") : -1;
    this.tab = state.get("t") === "table" ? "table" : state.get("t") === "sandwich" && this.focus >= 0 ? "sandwich" : "flame";
    this.metric = number("m") > 0 && number("m") <= this.facts.metrics.length ? number("m") : this.firstMetric;
    get("metric").value = this.metric;
    this.thread = state.get("h") || ""; // key of a choice; "" all
    this.threads();
    this.tag = state.get("g") || "";
    this.tags();
    this.later = number("z") < this.tree.count ? number("z") : 0;
  }

  // Restore the view from the address.
  restore() {
    this.firstMetric = Math.max(this.facts.metrics.findIndex((m) => m.name === this.facts.metric), 0) + 1;
    this.quietly(() => {
      this.recall();
      this.weigh();
      if (this.later && this.graph === this.weighted) this.flame.zoom(this.later);
      this.describe(-1);
    });
  }

  // --- controls and keys --------------------------------------------------------------------

  listen() {
    get("tab-flame").addEventListener("click", () => this.showTab("flame"));
    get("tab-sandwich").addEventListener("click", () => this.act("s"));
    get("tab-table").addEventListener("click", () => this.showTab("table"));
    window.addEventListener("popstate", () => this.restore());
    get("metric").addEventListener("change", (ev) => {
      this.metric = +ev.target.value;
      this.threads();
      this.tags();
      this.weigh();
    });
    get("thread").addEventListener("change", (ev) => {
      this.thread = ev.target.value;
      this.tags();
      this.weigh();
    });
    get("tag").addEventListener("change", (ev) => {
      this.tag = ev.target.value;
      this.weigh();
    });
    get("search").addEventListener("input", (ev) => this.search(ev.target.value));
    get("invert").addEventListener("click", () => this.act("i"));
    get("flip").addEventListener("click", () => this.act("f"));
    get("reset").addEventListener("click", () => this.flame.zoom(0));
    get("theme").addEventListener("click", () => this.act("d"));
    get("help").addEventListener("click", () => this.act("?"));
    get("keys").append(make("h2", "Keys"), make("dl", ...KEYS.flatMap(([k, what]) => [make("dt", k), make("dd", what)])));
    get("keys").addEventListener("click", () => get("keys").close());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.setTheme(this.storedTheme()));
    document.addEventListener("keydown", (ev) => this.key(ev));
  }

  key(ev) {
    if (get("keys").open) return;
    if (ev.target === get("search")) {
      if (ev.key === "Escape" || ev.key === "Enter") {
        if (ev.key === "Escape" && !ev.target.value) this.flame.zoom(0);
        if (ev.key === "Escape") this.search(ev.target.value = "");
        get("scroller").focus();
        ev.preventDefault();
      }
      return;
    }
    const find = ev.key === "f" && (ev.ctrlKey || ev.metaKey);
    if (!find && (ev.ctrlKey || ev.metaKey || ev.altKey || ev.target.closest("select"))) return;
    if ((ev.key === "Enter" || ev.key === " ") && ev.target.closest("button")) return;
    if (this.act(find ? "/" : ev.key)) ev.preventDefault();
  }

  // Handle a key; true if it is bound.
  act(key) {
    const { flame } = this, middle = flame.width / 2;
    const down = flame.flipped ? "parent" : "child", up = flame.flipped ? "child" : "parent";
    const actions = {
      "/": () => { get("search").focus(); get("search").select(); },
      i: () => { this.inverted = !this.inverted; this.showTab("flame"); },
      s: () => this.sandwich(this.pointedAt()),
      f: () => { flame.flip(!flame.flipped); get("flip").setAttribute("aria-pressed", flame.flipped); },
      t: () => this.showTab(this.tab === "flame" ? "table" : "flame"),
      d: () => this.setTheme(this.theme === "dark" ? "light" : "dark", true),
      "?": () => get("keys").showModal(),
      c: () => navigator.clipboard?.writeText(this.symbols.name[this.graph.symbolOf(Math.max(this.described ?? 0, 0))]).catch(() => {}),
      0: () => flame.zoom(0),
      Escape: () => {
        if (flame.zoomed > 0 || flame.to - flame.from < this.graph.whole) flame.zoom(0);
        else this.search(get("search").value = "");
      },
    };
    const inFlame = {
      ArrowUp: () => flame.walk(up), ArrowDown: () => flame.walk(down),
      ArrowLeft: () => flame.walk("before"), ArrowRight: () => flame.walk("after"),
      Enter: () => flame.zoom(Math.max(flame.selected, 0)),
      Backspace: () => flame.zoom(Math.max(this.graph.parentOf(flame.zoomed), 0)),
      n: () => flame.nextMatch(1), N: () => flame.nextMatch(-1),
      "+": () => flame.zoomAt(middle, 0.7), "=": () => flame.zoomAt(middle, 0.7), "-": () => flame.zoomAt(middle, 1 / 0.7),
    };
    const action = actions[key] || (this.tab !== "table" && inFlame[key]);
    if (!action) return false;
    action();
    return true;
  }
}

try {
  const app = new App(await readPage(document));
  get("loading").hidden = true;
  get("scroller").focus({ focusVisible: false });
  window.fathom = app; // for scripts and for the tests
  document.documentElement.dataset.ready = "yes";
} catch (error) {
  get("loading").textContent = `Cannot read the profile: ${error.message}`;
  throw error;
}
