// Describe the recording and its quality.
import { formatCount, formatShare, formatTime } from "./format.js";
import { KINDS, kindColor, kindIndex } from "./palette.js";
import { groupsOf } from "./weights.js";

export function subtitleOf(facts) {
  const { meta } = facts, parts = [];
  if (meta.duration_ns) parts.push(`in ${formatTime(+meta.duration_ns)}`);
  if (meta.host) parts.push(meta.host);
  if (meta.cpu) parts.push(meta.cpu);
  if (meta.date) parts.push(meta.date.replace("T", " ").replace(/(:\d\d):\d\d.*/, "$1"));
  return parts.join(" · ");
}

// [text, is bad] for each fact about the quality of the figures.
export function qualityOf(facts) {
  const { meta } = facts, q = (key) => Number(meta[`quality.${key}`] || 0), out = [];
  const samples = q("samples"), add = (text, bad = false) => out.push([text, bad]);
  if (facts.damage) add(facts.damage, true);
  if (facts.cut) add(facts.cut, true);
  if (samples) add(`${formatCount(samples)} samples`);
  if (meta.rate_asked) add(`${meta.rate_asked} Hz requested${meta.rate_achieved ? `, ${Math.round(+meta.rate_achieved)} achieved` : ""}`);
  if ("quality.lost" in meta) add(`${formatCount(q("lost"))} lost`, q("lost") > samples / 100);
  if (q("unsampled_ns") * 100 >= q("target_cpu_ns") && q("unsampled_ns") > 5e6)
    add(`${formatTime(q("unsampled_ns"))} of CPU time not sampled`, q("unsampled_ns") * 10 > q("target_cpu_ns"));
  if (q("throttled")) add(`throttled ${q("throttled")} times`, true);
  const stacks = q("stacks") || samples;
  if (stacks && "quality.complete" in meta) add(`${formatShare(q("complete"), stacks)} of stacks complete`, q("complete") < 0.9 * stacks);
  if (q("joined")) add(`${formatCount(q("joined"))} joined`);
  if (q("waits")) add(`${formatCount(q("waits"))} waits`);
  if (q("threads_missed")) add(`${formatCount(q("threads_missed"))} threads not recorded from their start`, true);
  if (q("dropped")) add(`${formatCount(q("dropped"))} events dropped`, true);
  if (q("lines_skipped")) add(`${formatCount(q("lines_skipped"))} lines skipped`, true);
  if (meta.rung) add(meta.rung);
  if (q("recorder_cpu_ns")) add(`recorder used ${formatTime(q("recorder_cpu_ns"))} CPU`);
  return out;
}

// In a recording with waiting, notes are wait kinds.
export function kindName(index, facts) {
  return KINDS[index] === "note" && facts.metrics.some((m) => m.waiting) ? "waiting" : KINDS[index];
}

export function putQuality(element, facts, tree, dark) {
  const { symbols } = tree, root = tree.symbol[0];
  const seen = new Set(Array.from(symbols.kind).filter((kind, s) => s !== root).map(kindIndex));
  element.replaceChildren();
  [...seen].sort((a, b) => a - b).forEach((index) => {
    const span = document.createElement("span");
    span.className = "legend";
    span.style.setProperty("--of", kindColor(index, dark));
    span.textContent = kindName(index, facts);
    element.append(span);
  });
  qualityOf(facts).forEach(([text, bad], i) => {
    const span = document.createElement("span");
    span.textContent = text;
    if (bad) span.className = "bad";
    element.append(i ? " · " : "", span);
  });
}

// The tag values to select for a metric and threads: [key, [[choice, label, sets], ...]] for each
// key, most expensive value first; samples without the key are the last choice.
export function tagChoices(facts, groups, metric, only) {
  const sums = new Map(), keys = [...new Set(facts.tags.flatMap((set) => Object.keys(set)))].sort();
  for (const g of groupsOf(facts, groups, metric, only))
    sums.set(g.tags, (sums.get(g.tags) || 0) + g.value.reduce((a, b) => a + b, 0));
  const whole = [...sums.values()].reduce((a, b) => a + b, 0), out = [];
  for (const key of keys) {
    const values = new Map();
    for (const [set, weight] of sums) {
      const value = facts.tags[set - 1]?.[key], choice = value === undefined ? `!${key}` : `${key}=${value}`;
      if (!values.has(choice)) values.set(choice, { label: value ?? `no ${key}`, without: value === undefined, weight: 0, sets: new Set() });
      values.get(choice).weight += weight;
      values.get(choice).sets.add(set);
    }
    const list = [...values].sort(([, a], [, b]) => a.without - b.without || b.weight - a.weight);
    if (list.some(([, v]) => !v.without)) out.push([key, list.map(([choice, v]) => [choice, `${v.label} (${formatShare(v.weight, whole)})`, v.sets])]);
  }
  return out;
}

// Threads to select for a metric, most expensive first: [key, label, threads].  A process with
// several threads precedes them.  A process that executed another program is two processes.
export function threadChoices(facts, groups, metric) {
  const sums = new Map(), processes = new Map();
  for (const g of groupsOf(facts, groups, metric, facts.threads.map((t, i) => i + 1).concat(0)))
    sums.set(g.thread, (sums.get(g.thread) || 0) + g.value.reduce((a, b) => a + b, 0));
  const whole = [...sums.values()].reduce((a, b) => a + b, 0);
  for (const [thread, weight] of sums) {
    const t = facts.threads[thread - 1], pid = t ? t.pid : -1, name = t ? t.process || t.name : "";
    const key = `${pid} ${name}`;
    if (!processes.has(key)) processes.set(key, { pid, name, weight: 0, threads: [] });
    const p = processes.get(key);
    p.weight += weight;
    p.threads.push([thread, weight, t ? `${t.name || "thread"} ${t.tid}` : "no thread"]);
  }
  const share = (weight) => `(${formatShare(weight, whole)})`, out = [];
  for (const p of [...processes.values()].sort((a, b) => b.weight - a.weight)) {
    p.threads.sort((a, b) => b[1] - a[1]);
    const group = processes.size > 1 && p.threads.length > 1;
    if (group) out.push([`p${p.pid} ${p.name}`, `${p.name} ${p.pid}, ${p.threads.length} threads ${share(p.weight)}`, p.threads.map((t) => t[0])]);
    for (const [thread, weight, name] of p.threads)
      out.push([`t${thread}`, `${group ? "\u2003" : ""}${name} ${share(weight)}`, [thread]]);
  }
  return out;
}
