// The color of a frame: its kind selects the family, its name the shade.
// src/formats/palette.c computes the same for pictures.

export const KINDS = ["native", "kernel", "JIT", "python", "script", "zone", "note", "inlined"];
const FAMILIES = [ // hue, span of hue, saturation, lightness
  [14, 34, 84, 66], [252, 26, 56, 74], [92, 40, 44, 65], [202, 20, 66, 68],
  [318, 24, 52, 74], [52, 10, 74, 64], [215, 6, 10, 74], [166, 20, 42, 66],
];
const utf8 = new TextEncoder();

function hashName(name) {
  let h = 2166136261;
  for (const byte of utf8.encode(name)) h = Math.imul(h ^ byte, 16777619);
  return (h ^ (h >>> 15)) >>> 0;
}

// KIND is as stored in the page: the frame's kind, plus 128 when inlined.
export function kindIndex(kind) {
  return kind & 128 ? 7 : Math.min(kind & 127, 6);
}

export function colorOf(name, kind, dark) {
  const [hue, span, saturation, lightness] = FAMILIES[kindIndex(kind)], h = hashName(name);
  const l = lightness + (h >>> 8 & 255) / 255 * 8 - 4 - (dark ? 9 : 0);
  return `hsl(${(hue + (h & 255) / 255 * span).toFixed(1)} ${saturation - (dark ? 12 : 0)}% ${l.toFixed(1)}%)`;
}

export function kindColor(index, dark) {
  const [hue, span, saturation, lightness] = FAMILIES[index];
  return `hsl(${hue + span / 2} ${saturation - (dark ? 12 : 0)}% ${lightness - (dark ? 9 : 0)}%)`;
}
