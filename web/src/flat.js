// One row per function with its self and total cost.  A recursive function counts once per stack;
// inlined and called copies of a function share a row.

export function flatRows(weighted) {
  const { tree, self, total } = weighted, { symbols } = tree;
  const rowOf = new Uint32Array(symbols.count), rows = [], by = new Map();
  for (let s = 0; s < symbols.count; s++) {
    const key = symbols.name[s] + "\n" + symbols.module[s];
    if (!by.has(key)) {
      by.set(key, rows.length);
      rows.push({ symbol: s, name: symbols.name[s], module: symbols.module[s], self: 0, total: 0 });
    }
    rowOf[s] = by.get(key);
  }
  const sumSelf = new Float64Array(rows.length), sumTotal = new Float64Array(rows.length);
  const open = new Uint32Array(rows.length); // end of the outermost open call of the row
  for (let i = 1; i < tree.count; i++) {
    const r = rowOf[tree.symbol[i]];
    sumSelf[r] += self[i];
    if (i >= open[r]) {
      sumTotal[r] += total[i];
      open[r] = tree.end[i];
    }
  }
  rows.forEach((row, r) => {
    row.self = sumSelf[r];
    row.total = sumTotal[r];
  });
  return rows.filter((row) => row.total > 0);
}
