// The weights of a metric by tree node, for all threads or some; and the tree as a graph to draw.
import { Lebs } from "./bytes.js";

// [{ metric, thread, tags, node, value, count }] with an array per column.
export function readGroups({ facts, columns }) {
  const nodes = new Lebs(columns["weight.node"]), values = new Lebs(columns["weight.value"]);
  const counts = new Lebs(columns["weight.count"]);
  return facts.groups.map(([metric, thread, n, tags]) => {
    const g = { metric, thread, tags, node: new Uint32Array(n), value: new Float64Array(n), count: new Float64Array(n) };
    for (let i = 0, at = 0; i < n; i++) {
      g.node[i] = at += nodes.next();
      g.value[i] = values.nextZigzag();
      g.count[i] = counts.next();
    }
    return g;
  });
}

// The groups of a metric.  ONLY has the selected threads and SETS the selected tag sets; null means
// all.  "wall" is running plus waiting, without the waits of idle threads unless they are selected.
export function groupsOf({ metrics }, groups, metric, only = null, sets = null) {
  const { running, waiting, idle } = metrics[metric - 1] || {};
  return groups.filter((g) => {
    if ((only && !only.includes(g.thread)) || (sets && !sets.has(g.tags))) return false;
    if (!waiting) return g.metric === metric;
    return g.metric === running || (g.metric === waiting && (only || !idle.includes(g.thread)));
  });
}

// The boxes to draw, by row, start and weight.  Inverted (inverted.js) has the same interface.
export class Weighted {
  constructor(tree, groups) {
    const n = tree.count;
    this.tree = tree;
    this.self = new Float64Array(n);
    this.total = new Float64Array(n);
    this.start = new Float64Array(n);
    this.counts = new Float64Array(n + 1); // sum of counts of the preceding nodes
    for (const g of groups)
      for (let i = 0; i < g.node.length; i++) {
        this.self[g.node[i]] += g.value[i];
        this.counts[g.node[i] + 1] += g.count[i];
      }
    this.#sum();
  }

  #sum() {
    const { parent, count: n } = this.tree, { self, total, start, counts } = this;
    total.set(self);
    for (let i = n - 1; i > 0; i--) total[parent[i]] += total[i];
    const filled = new Float64Array(n);
    for (let i = 1; i < n; i++) {
      const up = parent[i];
      filled[i] = start[i] = filled[up];
      filled[up] += total[i];
    }
    for (let i = 1; i <= n; i++) counts[i] += counts[i - 1];
  }

  get whole() { return this.total[0]; }
  get wholeCount() { return this.counts[this.tree.count]; }
  symbolOf(i) { return this.tree.symbol[i]; }
  weightOf(i) { return this.total[i]; }
  selfOf(i) { return this.self[i]; }
  startOf(i) { return this.start[i]; }
  rowOf(i) { return this.tree.depth[i]; }
  parentOf(i) { return i ? this.tree.parent[i] : -1; }
  countOf(i) { return this.counts[this.tree.end[i]] - this.counts[i]; }

  childrenOf(i) {
    const { end } = this.tree, out = [];
    for (let c = i + 1; c < end[i]; c = end[c]) if (this.total[c] > 0) out.push(c);
    return out;
  }

  // Call put(node, row, start, weight) for each box within [from, to] that is at least LEAST wide,
  // and crumb(row, start, weight) for narrower ones.
  boxes(from, to, least, put, crumb) {
    const { end, depth, count: n } = this.tree, { start, total } = this;
    for (let i = 0; i < n;) {
      const w = total[i], x = start[i], seen = w > 0 && x < to && x + w > from;
      if (seen && w >= least) put(i, depth[i], x, w);
      else if (seen) crumb(depth[i], x, w);
      i = seen && w >= least ? i + 1 : end[i];
    }
  }

  // The weight below ROOT that has a symbol of HIT on its stack; a match within a match counts once.
  matchedWeight(hit, root) {
    const { end, symbol } = this.tree, stop = end[root];
    for (let up = root; up > 0; up = this.tree.parent[up]) if (hit[symbol[up]]) return this.total[root];
    let sum = 0;
    for (let i = root; i < stop;) {
      if (i && hit[symbol[i]]) {
        sum += this.total[i];
        i = end[i];
      } else i++;
    }
    return sum;
  }
}
