// The graph on a canvas of the size of the window, whatever its depth.  The view is a range of
// weight [from, to]; boxes too narrow to see are skipped with their descendants.
import { labelOf } from "./format.js";
import { colorOf } from "./palette.js";

const ROW = 20, FONT = 12, LEAST_PX = 0.4, GLIDE_MS = 160;

export class Flame {
  constructor(scroller, hooks) {
    this.scroller = scroller;
    this.spacer = scroller.querySelector("#spacer");
    this.canvas = scroller.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.hooks = hooks; // hover(node), zoomed(node, whether by one step)
    this.rows = [];
    this.hover = this.selected = -1;
    this.flipped = false;
    this.hit = null;
    this.colors = [];
    scroller.addEventListener("scroll", () => this.paintSoon());
    new ResizeObserver(() => this.resize()).observe(scroller);
    this.#listen();
  }

  show(graph, symbols) {
    this.graph = graph;
    this.symbols = symbols;
    this.zoomed = this.selected = 0;
    this.from = 0;
    this.to = graph.whole || 1;
    this.resize();
    if (graph.above) this.scroller.scrollTop = this.#top(graph.rowOf(0)) - 0.4 * this.scroller.clientHeight;
    else if (this.flipped) this.scroller.scrollTop = this.spacer.offsetHeight;
    this.hooks.zoomed(0);
  }

  recolor(dark) {
    this.dark = dark;
    this.colors = [];
    const style = getComputedStyle(document.documentElement);
    this.ink = style.getPropertyValue("--ink").trim();
    this.match = style.getPropertyValue("--match").trim();
    this.paper = style.getPropertyValue("--panel").trim();
    this.gray = style.getPropertyValue("--line").trim();
    this.mono = style.getPropertyValue("--mono").trim();
    this.paintSoon();
  }

  highlight(hit) {
    this.hit = hit;
    this.paintSoon();
  }

  flip(on) {
    this.flipped = on;
    this.layout();
    this.scroller.scrollTop = on ? this.spacer.offsetHeight : 0;
  }

  // --- geometry -----------------------------------------------------------------------------

  resize() {
    const ratio = devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = this.scroller;
    if (!this.graph || !w) return;
    this.width = w;
    this.canvas.width = Math.round(w * ratio);
    this.canvas.height = Math.round(h * ratio);
    this.canvas.style.width = `${w}px`;
    this.canvas.style.height = `${h}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.layout();
  }

  layout() {
    if (!this.graph) return;
    const rows = this.rows = [], crumbs = this.crumbs = [], scale = this.scale = this.width / (this.to - this.from);
    this.graph.boxes(this.from, this.to, LEAST_PX / scale, (node, row, start, weight) => {
      const left = Math.max((start - this.from) * scale, 0);
      const right = Math.min((start + weight - this.from) * scale, this.width);
      (rows[row] ||= []).push({ node, left, width: right - left });
    }, (row, start, weight) => { // draw neighbors too narrow to see as one gray piece
      const left = (start - this.from) * scale, list = crumbs[row] ||= [], last = list[list.length - 1];
      if (last && left - last.right < 0.3) last.right = left + weight * scale;
      else list.push({ left, right: left + weight * scale });
    });
    this.spacer.style.height = `${Math.max(rows.length, crumbs.length) * ROW + 8}px`;
    this.paintSoon();
  }

  // Top of a row within the spacer.
  #top(row) {
    if (!this.flipped) return row * ROW + 4;
    return Math.max(this.spacer.offsetHeight, this.scroller.clientHeight) - (row + 1) * ROW - 4;
  }

  nodeAt(x, y) {
    const within = y + this.scroller.scrollTop;
    const height = Math.max(this.spacer.offsetHeight, this.scroller.clientHeight);
    const row = Math.floor(((this.flipped ? height - within : within) - 4) / ROW);
    const box = (this.rows[row] || []).find((b) => x >= b.left && x < b.left + Math.max(b.width, 1));
    return box ? box.node : -1;
  }

  // --- painting -----------------------------------------------------------------------------

  paintSoon() {
    this.waiting ||= requestAnimationFrame(() => {
      this.waiting = 0;
      if (this.graph) this.paint();
    });
  }

  #colorOf(symbol) {
    return this.colors[symbol] ||= colorOf(this.symbols.name[symbol], this.symbols.kind[symbol], this.dark);
  }

  #outline(row, box, width) {
    this.context.strokeStyle = this.ink;
    this.context.lineWidth = width;
    this.context.strokeRect(box.left + width / 2, this.#top(row) - this.scroller.scrollTop + width / 2,
                            Math.max(box.width - width, 1), ROW - 1 - width);
  }

  #paintCrumbs(row, y) {
    this.context.globalAlpha = 1;
    this.context.fillStyle = this.gray;
    for (const { left, right } of this.crumbs[row] || [])
      if (right - left >= LEAST_PX) this.context.fillRect(left, y, right - left, ROW - 1);
  }

  #paintBox(row, box) {
    const { context: c, graph } = this, symbol = graph.symbolOf(box.node);
    const y = this.#top(row) - this.scroller.scrollTop, gap = box.width > 3 ? 1 : 0;
    const hit = this.hit && box.node && this.hit[symbol];
    const outer = !graph.above && box.node !== this.zoomed && row < graph.rowOf(this.zoomed);
    c.globalAlpha = this.hit && !hit ? 0.4 : outer ? 0.6 : 1;
    c.fillStyle = hit ? this.match : this.#colorOf(symbol);
    c.fillRect(box.left, y, box.width - gap, ROW - 1);
    if (box.width > 24) {
      const room = Math.floor((box.width - 9) / this.glyph);
      c.globalAlpha = this.hit && !hit ? 0.72 : 1;
      c.fillStyle = hit ? (this.dark ? "#1a0a1c" : "#fff") : (this.hit && !hit) || (outer && this.dark) ? this.ink : "#16161b";
      c.fillText(labelOf(this.symbols.name[symbol], room), box.left + 4, y + ROW / 2);
    }
  }

  paint() {
    const { context: c, scroller } = this, height = scroller.clientHeight;
    c.globalAlpha = 1;
    c.fillStyle = this.paper;
    c.fillRect(0, 0, this.width, height);
    c.font = `${FONT}px ${this.mono}`;
    c.textBaseline = "middle";
    this.glyph ||= c.measureText("mmmmmmmmmm").width / 10;
    if (!this.graph.whole) {
      c.fillStyle = this.ink;
      c.fillText("No samples: the program did not run long enough to be seen.", 16, 24);
    }
    this.#paintCrumbs(this.rows.length, this.#top(this.rows.length) - scroller.scrollTop);
    this.rows.forEach((boxes, row) => {
      const y = this.#top(row) - scroller.scrollTop;
      if (y + ROW < 0 || y > height) return;
      this.#paintCrumbs(row, y);
      for (const box of boxes) this.#paintBox(row, box);
    });
    c.globalAlpha = 1;
    for (const [node, width] of [[this.hover, 1], [this.selected, 2], [this.graph.above ? 0 : -1, 2]]) {
      const row = node > 0 || (node === 0 && this.graph.above) ? this.graph.rowOf(node) : -1, box = this.rows[row]?.find((b) => b.node === node);
      if (box) this.#outline(row, box, width);
    }
  }

  // --- moving -------------------------------------------------------------------------------

  zoom(node) {
    this.zoomed = node;
    const from = this.graph.startOf(node);
    this.#glide(from, from + this.graph.weightOf(node));
    this.hooks.zoomed(node, true);
  }

  // The zoomed box is the narrowest one that contains the whole view.
  #settle() {
    let node = 0;
    for (const boxes of this.graph.above ? [] : this.rows) {
      const box = boxes.length === 1 && boxes[0];
      if (!box || this.graph.startOf(box.node) > this.from ||
          this.graph.startOf(box.node) + this.graph.weightOf(box.node) < this.to) break;
      node = box.node;
    }
    this.zoomed = node;
    this.hooks.zoomed(node);
  }

  #range(from, to) {
    const whole = this.graph.whole || 1, span = Math.min(Math.max(to - from, whole / 1e9), whole);
    this.from = Math.min(Math.max(from, 0), whole - span);
    this.to = this.from + span;
    this.layout();
  }

  #glide(from, to) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden;
    const a = [this.from, this.to], began = performance.now(), turn = this.turn = {};
    const step = (now) => {
      if (turn !== this.turn) return;
      const t = still ? 1 : Math.min(Math.max((now - began) / GLIDE_MS, 0), 1), k = 1 - (1 - t) ** 3;
      this.#range(a[0] + (from - a[0]) * k, a[1] + (to - a[1]) * k);
      if (t < 1) requestAnimationFrame(step);
    };
    if (still) step(0);
    else requestAnimationFrame(step);
  }

  zoomAt(x, factor) {
    const at = this.from + x / this.scale;
    this.turn = null;
    this.#range(at - (at - this.from) * factor, at + (this.to - at) * factor);
    this.#settle();
  }

  pan(px) {
    this.turn = null;
    this.#range(this.from + px / this.scale, this.to + px / this.scale);
    this.#settle();
  }

  // Select NODE, bring its row into view, and widen the view when it is outside.
  select(node) {
    const { graph, scroller } = this, start = graph.startOf(node), top = this.#top(graph.rowOf(node));
    this.selected = node;
    if (start + graph.weightOf(node) <= this.from || start >= this.to ||
        graph.weightOf(node) * this.scale < LEAST_PX)
      this.zoom(Math.max(graph.parentOf(node), 0));
    if (top < scroller.scrollTop) scroller.scrollTop = top - ROW;
    else if (top + ROW > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = top + 2 * ROW - scroller.clientHeight;
    this.hooks.hover(node);
    this.paintSoon();
  }

  // DIRECTION: "parent", "child", "before" or "after".
  walk(direction) {
    const { graph } = this, at = Math.max(this.selected, 0), up = graph.parentOf(at);
    const heaviest = (list) => list.length ? list.reduce((a, b) => graph.weightOf(b) > graph.weightOf(a) ? b : a) : at;
    if (direction === "parent") return this.select(graph.above ? heaviest(graph.above(at)) : Math.max(up, 0));
    if (direction === "child") return this.select(heaviest(graph.below ? graph.below(at) : graph.childrenOf(at)));
    const near = graph.besides ? graph.besides(at) : up >= 0 ? graph.childrenOf(up) : [];
    const next = near[near.indexOf(at) + (direction === "after" ? 1 : -1)];
    return next === undefined ? undefined : this.select(next);
  }

  // Select the next or previous box that matches the search, in drawing order.
  nextMatch(step) {
    if (!this.hit) return;
    const all = this.rows.flatMap((boxes) => boxes.map((b) => b.node)).filter((n) => n && this.hit[this.graph.symbolOf(n)]);
    const at = all.indexOf(this.selected);
    if (all.length) this.select(all[(at + step + all.length + (at < 0 && step < 0 ? 1 : 0)) % all.length]);
  }

  #listen() {
    const at = (ev) => {
      const r = this.canvas.getBoundingClientRect();
      return [ev.clientX - r.left, ev.clientY - r.top];
    };
    let drag = null;
    this.canvas.addEventListener("pointermove", (ev) => {
      if (drag && (ev.buttons & 1)) {
        if (Math.abs(ev.clientX - drag.x) > 4) drag.moved = true;
        if (drag.moved) this.pan(drag.last - ev.clientX);
        drag.last = ev.clientX;
        return;
      }
      const node = this.graph ? this.nodeAt(...at(ev)) : -1;
      this.canvas.style.cursor = node >= 0 ? "pointer" : "default";
      if (node === this.hover) return;
      this.hover = node;
      this.hooks.hover(node);
      this.paintSoon();
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.hover = -1;
      this.hooks.hover(this.selected > 0 ? this.selected : -1);
      this.paintSoon();
    });
    this.canvas.addEventListener("pointerdown", (ev) => { drag = { x: ev.clientX, last: ev.clientX, moved: false }; });
    this.canvas.addEventListener("click", (ev) => {
      const node = this.nodeAt(...at(ev));
      if (node < 0 || drag?.moved) return;
      this.selected = node;
      this.zoom(node);
    });
    this.canvas.addEventListener("dblclick", () => this.zoom(0));
    this.canvas.addEventListener("wheel", (ev) => {
      if (!ev.ctrlKey && !ev.metaKey && Math.abs(ev.deltaX) <= Math.abs(ev.deltaY)) return;
      ev.preventDefault();
      if (ev.ctrlKey || ev.metaKey) this.zoomAt(at(ev)[0], Math.exp(ev.deltaY / 300));
      else this.pan(ev.deltaX);
    }, { passive: false });
  }
}
