// A function with its callers above and its callees below, merged from all its places in the tree.
// Has the same interface as Weighted; nodes are created on demand.  Node 0 is the function; its
// recursive calls are callees.
import { lazyBoxes } from "./inverted.js";

export class Sandwich {
  // HIT: by symbol, whether it is the function.
  constructor(weighted, hit) {
    const { tree, total, self } = weighted, places = [];
    Object.assign(this, { weighted, symbol: [0], weight: [0], start: [0], row: [0], parent: [-1], side: [0], ownOf0: 0 });
    for (let i = 1, end = 0; i < tree.count; i++) {
      if (!hit[tree.symbol[i]] || !(total[i] > 0)) continue;
      this.ownOf0 += self[i];
      if (i < end) continue;
      places.push(i);
      end = tree.end[i];
    }
    this.symbol[0] = places.length ? tree.symbol[places[0]] : 0;
    this.row[0] = places.reduce((most, i) => Math.max(most, tree.depth[i] - 1), 0);
    this.weight[0] = places.reduce((sum, i) => sum + total[i], 0);
    // By node: its places in the tree, and the place of the function that each was reached from.
    this.places = [places];
    this.origins = [places];
    this.callers = [null];
    this.callees = [null];
  }

  get whole() { return this.weight[0]; }
  get all() { return this.weighted.whole; }
  get wholeCount() { return this.weighted.wholeCount; }
  symbolOf(i) { return this.symbol[i]; }
  weightOf(i) { return this.weight[i]; }
  startOf(i) { return this.start[i]; }
  rowOf(i) { return this.row[i]; }
  parentOf(i) { return this.parent[i]; }
  countOf(i) { return this.all ? this.wholeCount * this.weight[i] / this.all : 0; }

  selfOf(i) {
    if (!i) return this.ownOf0;
    return this.side[i] > 0 ? this.places[i].reduce((sum, at) => sum + this.weighted.self[at], 0) : 0;
  }

  // --- directions of the arrow keys: up to callers, down to callees -----------------------------

  above(i) { return this.side[i] > 0 ? [this.parent[i]] : this.#callersOf(i); }
  below(i) { return this.side[i] < 0 ? [this.parent[i]] : this.childrenOf(i); }

  besides(i) {
    const up = this.parent[i];
    return up < 0 ? [] : this.side[i] < 0 ? this.#callersOf(up) : this.childrenOf(up);
  }

  // --- nodes ------------------------------------------------------------------------------------

  #callersOf(i) {
    const { tree, total } = this.weighted, of = new Map();
    if (this.side[i] > 0) return [];
    return this.callers[i] ||= this.#grown(i, -1, of, () => this.places[i].forEach((at, k) => {
      const up = tree.parent[at], origin = this.origins[i][k];
      if (up) this.#put(of, up, origin, total[origin]);
    }));
  }

  childrenOf(i) {
    const { tree, total } = this.weighted, of = new Map();
    if (this.side[i] < 0) return this.#callersOf(i);
    return this.callees[i] ||= this.#grown(i, 1, of, () => this.places[i].forEach((at, k) => {
      for (let c = at + 1; c < tree.end[at]; c = tree.end[c])
        if (total[c] > 0) this.#put(of, c, this.origins[i][k], total[c]);
    }));
  }

  #put(of, place, origin, weight) {
    const symbol = this.weighted.tree.symbol[place];
    let g = of.get(symbol);
    if (!g) of.set(symbol, g = { places: [], origins: [], sum: 0 });
    g.places.push(place);
    g.origins.push(origin);
    g.sum += weight;
  }

  #grown(node, side, of, fill) {
    let x = this.start[node];
    fill();
    return [...of].sort((a, b) => b[1].sum - a[1].sum).map(([symbol, g]) => {
      const id = this.symbol.length;
      this.symbol.push(symbol);
      this.weight.push(g.sum);
      this.start.push(x);
      this.row.push(this.row[node] + side);
      this.parent.push(node);
      this.side.push(side);
      this.places.push(g.places);
      this.origins.push(g.origins);
      this.callers.push(null);
      this.callees.push(null);
      x += g.sum;
      return id;
    });
  }

  boxes(...view) {
    lazyBoxes(this, (i) => i ? this.childrenOf(i) : [...this.#callersOf(0), ...this.childrenOf(0)], ...view);
  }

  matchedWeight(hit, root) {
    const from = this.side[root] < 0 ? this.origins[root] : this.places[root];
    return from.reduce((sum, at) => sum + this.weighted.matchedWeight(hit, at), 0);
  }
}
