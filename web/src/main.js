// Put the page together: controls, keys, and the state in the address.
import { readPage } from "./bytes.js";
import { formatShare, formatWeight, formatCount, shareError, shortPath } from "./format.js";
import { KINDS, kindIndex } from "./palette.js";
import { Tree } from "./tree.js";
import { groupsOf, readGroups, Weighted } from "./weights.js";
import { Inverted } from "./inverted.js";
import { flatRows } from "./flat.js";
import { Flame } from "./flame.js";
import { Table } from "./table.js";
import { putQuality, subtitleOf, threadChoices } from "./facts.js";

const KEYS = [
  ["click, Enter", "zoom to a function"], ["Escape, 0", "whole graph; again: end the search"], ["Backspace", "zoom out to the caller"],
  ["arrows", "walk: caller, callee, neighbours"], ["Ctrl + wheel, + −", "zoom at the pointer"], ["drag, ← → wheel", "move sideways"],
  ["/", "search (regular expression)"], ["n, N", "next and previous match"], ["i", "inverted: from the functions that cost"],
  ["f", "flip: root at the bottom"], ["t", "table or flame graph"], ["c", "copy the function's name"], ["d", "dark or light"], ["?", "these keys"],
];
const get = (id) => document.getElementById(id);

class App {
  constructor(page) {
    this.page = page;
    this.facts = page.facts;
    this.tree = new Tree(page);
    this.groups = readGroups(page);
    page.columns = null;
    this.symbols = this.tree.symbols;
    this.metric = Math.max(this.facts.metrics.findIndex((m) => m.name === this.facts.metric), 0) + 1;
    this.thread = ""; // key of a choice; "" all
    this.inverted = this.facts.inverted;
    this.tab = "flame";
    this.flame = new Flame(get("scroller"), { hover: (n) => this.describe(n), zoomed: (n) => this.zoomed(n) });
    this.table = new Table(get("table"), { choose: (row) => this.findRow(row), kindOf: (s) => this.symbols.kind[s] });
    this.heading();
    this.choices();
    this.listen();
    this.setTheme(this.storedTheme());
    this.recall();
    this.weigh();
  }

  get unit() { return this.facts.metrics[this.metric - 1]?.unit || ""; }

  heading() {
    const title = this.facts.title || this.facts.meta.command || "Flame graph";
    document.title = `${title} - fathom`;
    get("title").textContent = get("title").title = title;
  }

  choices() {
    const metric = get("metric"), { metrics } = this.facts;
    metric.append(...metrics.map((m, i) => new Option(m.name, i + 1, false, i + 1 === this.metric)));
    metric.parentElement.hidden = metrics.length < 2;
    this.threads();
  }

  threads() {
    const select = get("thread"), list = threadChoices(this.facts, this.groups, this.metric);
    this.chosen = new Map(list.map(([key, , threads]) => [key, threads]));
    if (!this.chosen.has(this.thread)) this.thread = "";
    select.replaceChildren(new Option("All threads", ""), ...list.map(([key, label]) => new Option(label, key, false, key === this.thread)));
    select.parentElement.hidden = list.length < 2;
  }

  // Weights of the chosen metric and thread; everything that is shown comes from them.
  weigh() {
    const only = this.chosen.get(this.thread);
    this.weighted = new Weighted(this.tree, groupsOf(this.facts, this.groups, this.metric, only));
    this.rows = this.turned = null;
    const metric = this.facts.metrics[this.metric - 1] || {}, name = metric.name || "", what = this.unit === name ? "" : ` ${name}`;
    const about = [formatWeight(this.weighted.whole, this.unit) + what, subtitleOf(this.facts)];
    if (this.unit !== "samples") about.splice(1, 0, `${formatCount(this.weighted.wholeCount)} ${metric.exact ? "events" : metric.waiting ? "samples and waits" : "samples"}`);
    get("subtitle").textContent = about.filter(Boolean).join(" · ");
    this.turn();
    this.showTab(this.tab);
  }

  turn() {
    get("invert").setAttribute("aria-pressed", this.inverted);
    if (this.inverted) this.turned ||= new Inverted(this.weighted);
    this.graph = this.inverted ? this.turned : this.weighted;
    this.flame.show(this.graph, this.symbols);
    this.search(get("search").value);
  }

  showTab(name) {
    this.tab = name;
    for (const tab of ["flame", "table"]) {
      get(tab).hidden = tab !== name;
      get(`tab-${tab}`).setAttribute("aria-selected", tab === name);
    }
    if (name === "table") {
      this.rows ||= flatRows(this.weighted);
      this.table.show(this.rows, this.weighted.whole, this.unit);
    } else this.flame.resize();
    this.remember();
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

  findRow(row) {
    const quoted = row.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    get("search").value = `^${quoted}$`;
    this.search(get("search").value);
    this.showTab("flame");
  }

  // --- what is said about a frame -----------------------------------------------------------

  describe(node) {
    const line = get("details");
    this.described = node;
    line.replaceChildren();
    if (node < 0 || !this.graph) return;
    const { graph, symbols, weighted } = this, s = graph.symbolOf(node), name = document.createElement("b");
    const say = (text, quiet = true) => {
      const span = document.createElement(quiet ? "i" : "span");
      span.textContent = text;
      line.append(" ", span);
    };
    name.textContent = symbols.name[s];
    line.append(name);
    if (symbols.module[s]) say(symbols.module[s]);
    if (symbols.file[s]) say(`${shortPath(symbols.file[s])}${symbols.line[s] ? `:${symbols.line[s]}` : ""}`);
    if (node) say(KINDS[kindIndex(symbols.kind[s])]);
    const exact = this.facts.metrics[this.metric - 1]?.exact, error = shareError(graph.countOf(node), weighted.wholeCount);
    say(`${formatWeight(graph.weightOf(node), this.unit)}, ${formatShare(graph.weightOf(node), graph.whole)}` +
        `${exact || !node ? "" : ` ± ${error.toFixed(error < 0.1 ? 2 : 1)}`}`, false);
    if (graph.selfOf(node) > 0 && !this.inverted) say(`self ${formatShare(graph.selfOf(node), graph.whole)}`, false);
    if (this.flame.zoomed > 0 && node !== this.flame.zoomed)
      say(`${formatShare(graph.weightOf(node), graph.weightOf(this.flame.zoomed))} of the zoomed`);
  }

  zoomed(node) {
    get("reset").disabled = node === 0;
    this.countMatches();
    this.remember();
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

  remember() {
    const state = new URLSearchParams();
    if (this.pattern) state.set("s", get("search").value);
    if (this.inverted) state.set("i", "1");
    if (this.tab !== "flame") state.set("t", this.tab);
    if (this.metric > 1) state.set("m", this.metric);
    if (this.thread) state.set("h", this.thread);
    if (!this.inverted && this.flame.zoomed > 0) state.set("z", this.flame.zoomed);
    try {
      history.replaceState(null, "", `#${state}`);
    } catch { /* not allowed where the page is embedded */ }
  }

  recall() {
    const state = new URLSearchParams(location.hash.slice(1)), number = (key) => Number(state.get(key) || 0);
    get("search").value = state.get("s") || "";
    if (state.has("i")) this.inverted = true;
    if (state.get("t") === "table") this.tab = "table";
    if (number("m") > 0 && number("m") <= this.facts.metrics.length) {
      this.metric = number("m");
      get("metric").value = this.metric;
      this.threads();
    }
    if (this.chosen.has(state.get("h"))) get("thread").value = this.thread = state.get("h");
    this.later = number("z") < this.tree.count ? number("z") : 0;
  }

  // --- controls and keys --------------------------------------------------------------------

  listen() {
    get("tab-flame").addEventListener("click", () => this.showTab("flame"));
    get("tab-table").addEventListener("click", () => this.showTab("table"));
    get("metric").addEventListener("change", (ev) => {
      this.metric = +ev.target.value;
      this.threads();
      this.weigh();
    });
    get("thread").addEventListener("change", (ev) => {
      this.thread = ev.target.value;
      this.weigh();
    });
    get("search").addEventListener("input", (ev) => this.search(ev.target.value));
    get("invert").addEventListener("click", () => this.act("i"));
    get("flip").addEventListener("click", () => this.act("f"));
    get("reset").addEventListener("click", () => this.flame.zoom(0));
    get("theme").addEventListener("click", () => this.act("d"));
    get("help").addEventListener("click", () => this.act("?"));
    get("keys").innerHTML = `<h2>Keys</h2><dl>${KEYS.map(([k, what]) => `<dt>${k}</dt><dd>${what}</dd>`).join("")}</dl>`;
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

  // Do what a key says; true when it says something.
  act(key) {
    const { flame } = this, middle = flame.width / 2;
    const down = flame.flipped ? "parent" : "child", up = flame.flipped ? "child" : "parent";
    const actions = {
      "/": () => { get("search").focus(); get("search").select(); },
      i: () => { this.inverted = !this.inverted; this.turn(); },
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
    const action = actions[key] || (this.tab === "flame" && inFlame[key]);
    if (!action) return false;
    action();
    return true;
  }
}

try {
  const app = new App(await readPage(document));
  get("loading").hidden = true;
  get("scroller").focus({ focusVisible: false });
  if (app.later && !app.inverted) app.flame.zoom(app.later);
  window.fathom = app; // for scripts and for the tests
  document.documentElement.dataset.ready = "yes";
} catch (error) {
  get("loading").textContent = `This page cannot be read: ${error.message}`;
  throw error;
}
