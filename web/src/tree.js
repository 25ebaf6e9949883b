// The call tree in depth-first order, as typed arrays.  Node 0 is the root; the subtree of node i
// is i .. end[i] - 1.
import { Lebs } from "./bytes.js";

function readSymbols(facts, columns) {
  const strings = new TextDecoder().decode(columns.strings).split("\n");
  const n = facts.symbols;
  const text = (column) => {
    const lebs = new Lebs(columns[column]);
    return Array.from({ length: n }, () => strings[lebs.next()]);
  };
  const lines = new Lebs(columns["symbol.line"]);
  return {
    count: n, name: strings.slice(1, n + 1), kind: columns["symbol.kind"],
    module: text("symbol.module"), file: text("symbol.file"),
    line: Array.from({ length: n }, () => lines.next()),
  };
}

function readNodeSymbols(n, bytes, column) {
  const out = new (bytes > 2 ? Uint32Array : Uint16Array)(n);
  for (let k = 0; k < bytes; k++)
    for (let i = 0, at = k * n; i < n; i++, at++) out[i] |= column[at] << 8 * k;
  return out;
}

export class Tree {
  constructor({ facts, columns }) {
    const n = this.count = facts.nodes, ups = new Lebs(columns["node.up"]);
    this.symbols = readSymbols(facts, columns);
    this.symbol = readNodeSymbols(n, facts.symbolBytes, columns["node.symbol"]);
    this.parent = new Uint32Array(n);
    this.end = new Uint32Array(n);
    this.depth = new Uint32Array(n);
    const path = [0];
    for (let i = 1; i < n; i++) {
      for (let up = ups.next(); up > 0; up--) this.end[path.pop()] = i;
      this.parent[i] = path[path.length - 1];
      this.depth[i] = path.length;
      path.push(i);
    }
    for (const i of path) this.end[i] = n;
  }
}
