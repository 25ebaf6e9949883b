// Format numbers for people.

const thousands = new Intl.NumberFormat("en");

export function formatCount(x) {
  return thousands.format(Math.round(x));
}

function scaled(x, steps) {
  for (const [size, unit] of steps)
    if (Math.abs(x) >= size) return `${(x / size).toPrecision(3).replace(/e\+?\d+$/, "")} ${unit}`;
  return `${Math.round(x)} ${steps[steps.length - 1][1]}`;
}

export function formatTime(ns) {
  if (Math.abs(ns) >= 1e12) return `${formatCount(ns / 1e9)} s`;
  return scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
}

export function formatBytes(x) {
  return scaled(x, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]);
}

export function formatWeight(x, unit) {
  if (unit === "ns") return formatTime(x);
  if (unit === "bytes") return formatBytes(x);
  return `${formatCount(x)} ${unit}`.trim();
}

export function formatShare(part, whole) {
  const pct = whole ? 100 * part / whole : 0;
  return `${pct >= 9.995 || pct === 0 ? pct.toFixed(1) : pct >= 0.095 ? pct.toFixed(2) : pct.toPrecision(1)} %`;
}

// Half the width of the 95 % Wilson interval of a share, in percent.
export function shareError(count, whole) {
  if (!whole) return 0;
  const z = 1.96, p = Math.min(count / whole, 1);
  return 100 * z / (1 + z * z / whole) * Math.sqrt(p * (1 - p) / whole + z * z / (4 * whole * whole));
}

// The last two parts of a path: directory and file.
export function shortPath(path) {
  return path.split("/").slice(-2).join("/");
}

// A C++ or Rust name without its arguments: "std::map<int, X>::find(int const&)" is "std::map::find".
export function shortName(name) {
  let out = "", depth = 0;
  if (!/[<(]/.test(name) || /operator|^[<(\[]/.test(name)) return name;
  for (const c of name) {
    if (c === "<" || c === "(") depth++;
    else if (c === ">" || c === ")") depth = Math.max(depth - 1, 0);
    else if (!depth) out += c;
  }
  return out.replace(/ const$/, "").trim() || name;
}

// Shorten NAME to ROOM characters: drop the arguments, then the outer scopes, then cut.
export function labelOf(name, room) {
  if (name.length <= room) return name;
  const short = shortName(name), scopes = short.split("::");
  if (short.length <= room) return short;
  for (let i = 1; i < scopes.length; i++) {
    const text = `…${scopes.slice(i).join("::")}`;
    if (text.length <= room) return text;
  }
  const inner = scopes[scopes.length - 1] || short;
  return `${inner.slice(0, Math.max(room - 1, 1))}…`;
}
