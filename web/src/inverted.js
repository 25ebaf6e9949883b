// The inverted graph: the children of a node are its callers.  Children are created when they are
// first wide enough to draw, so that inverting a large profile takes no time.

// The same as boxes() of weights.js, for a graph G whose nodes kidsOf creates.
export function lazyBoxes(g, kidsOf, from, to, least, put, crumb) {
  const queue = [0];
  while (queue.length) {
    const i = queue.pop(), x = g.start[i], w = g.weight[i];
    if (w <= 0 || x >= to || x + w <= from) continue;
    if (w < least) {
      crumb(g.row[i], x, w);
      continue;
    }
    put(i, g.row[i], x, w);
    const kids = kidsOf(i);
    for (let k = kids.length - 1; k >= 0; k--) queue.push(kids[k]);
  }
}

export class Inverted {
  constructor(upright) {
    const { self, tree } = upright, places = [];
    this.upright = upright;
    this.symbol = [0];
    this.weight = [upright.whole];
    this.start = [0];
    this.row = [0];
    this.parent = [-1];
    this.kids = [null];
    for (let i = 1; i < tree.count; i++) if (self[i] > 0) places.push(i);
    const at = Uint32Array.from(places);
    // By node: its places in the upright tree, and the weights of their leaves.
    this.places = [at];
    this.weights = [Float64Array.from(at, (i) => self[i])];
    this.#group(0, at, this.weights[0], (i) => i);
  }

  get whole() { return this.weight[0]; }
  get wholeCount() { return this.upright.wholeCount; }
  symbolOf(i) { return i ? this.symbol[i] : this.upright.symbolOf(0); }
  weightOf(i) { return this.weight[i]; }
  selfOf(i) { return this.row[i] === 1 ? this.weight[i] : 0; }
  startOf(i) { return this.start[i]; }
  rowOf(i) { return this.row[i]; }
  parentOf(i) { return this.parent[i]; }
  countOf(i) { return this.whole ? this.wholeCount * this.weight[i] / this.whole : 0; }

  childrenOf(i) {
    if (!this.kids[i]) this.#expand(i);
    return this.kids[i];
  }

  #expand(node) {
    const { parent } = this.upright.tree;
    this.#group(node, this.places[node], this.weights[node], (i) => parent[i]);
  }

  // Children of NODE: its places moved by STEP, grouped by symbol, most expensive first.
  #group(node, places, weights, step) {
    const { symbol } = this.upright.tree, of = new Map();
    for (let k = 0; k < places.length; k++) {
      const at = step(places[k]);
      if (!at) continue;
      let g = of.get(symbol[at]);
      if (!g) of.set(symbol[at], g = { places: [], weights: [], sum: 0 });
      g.places.push(at);
      g.weights.push(weights[k]);
      g.sum += weights[k];
    }
    let x = this.start[node];
    this.kids[node] = [...of].sort((a, b) => b[1].sum - a[1].sum).map(([sym, g]) => {
      const id = this.symbol.length;
      this.symbol.push(sym);
      this.weight.push(g.sum);
      this.start.push(x);
      this.row.push(this.row[node] + 1);
      this.parent.push(node);
      this.kids.push(null);
      this.places.push(Uint32Array.from(g.places));
      this.weights.push(Float64Array.from(g.weights));
      x += g.sum;
      return id;
    });
  }

  boxes(...view) { lazyBoxes(this, (i) => this.childrenOf(i), ...view); }

  matchedWeight(hit, root) {
    if (root === 0) return this.upright.matchedWeight(hit, 0);
    for (let up = root; up > 0; up = this.parent[up]) if (hit[this.symbol[up]]) return this.weight[root];
    const { tree } = this.upright, places = this.places[root];
    let sum = 0;
    places.forEach((place, k) => {
      for (let i = place; i > 0; i = tree.parent[i])
        if (hit[tree.symbol[i]]) {
          sum += this.weights[root][k];
          return;
        }
    });
    return sum;
  }
}
