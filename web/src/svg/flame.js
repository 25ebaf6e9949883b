// Zoom and search for the flame graph in this file.  Boxes come in depth-first order, each with
// data-w="START WEIGHT".  labelOf comes from ../format.js.  The address holds the state:
// #x=START,WEIGHT,ROW&s=PATTERN.
"use strict";
(() => {
  const get = (id) => document.getElementById(id);
  const area = get("frames");
  const WIDTH = +area.dataset.width, PAD = +area.dataset.pad, CHAR = 7;
  const details = get("details"), matched = get("matched"), reset = get("reset");
  const boxes = [...area.children].map((g) => {
    const [start, weight] = g.dataset.w.split(" ").map(Number);
    const title = g.querySelector("title").textContent, rect = g.querySelector("rect");
    const name = title.replace(/ \([^(]*\)$/, "");
    return { g, rect, start, weight, title, name, label: name.replace(/ \[[^\]]*\]$/, ""),
             y: +rect.getAttribute("y"), text: g.querySelector("text") };
  });
  if (!boxes.length) return;
  const whole = boxes[0], down = boxes.some((b) => b.y > whole.y); // the root is above the others
  let root = whole, pattern = null;

  function relabel(box, x, width) {
    const room = Math.floor((width - 6) / CHAR);
    if (room < 2) {
      if (box.text) box.text.textContent = "";
      return;
    }
    if (!box.text) {
      box.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      box.text.setAttribute("y", box.y + 12);
      box.g.appendChild(box.text);
    }
    box.text.setAttribute("x", (x + 3).toFixed(1));
    box.text.textContent = labelOf(box.label, room);
  }

  function place(box, x, width, parent) {
    box.g.classList.remove("hidden");
    box.g.classList.toggle("parent", parent);
    box.rect.setAttribute("x", x.toFixed(2));
    box.rect.setAttribute("width", Math.max(width > 1.5 ? width - 0.5 : width, 0).toFixed(2));
    relabel(box, x, width);
  }

  // Callers of the selected box fill the width, its callees are scaled, the rest is hidden.
  function zoom(box) {
    const above = (y) => down ? y < box.y : y > box.y;
    const end = box.start + box.weight, scale = WIDTH / box.weight;
    root = box;
    for (const b of boxes) {
      const holds = b.start <= box.start && b.start + b.weight >= end;
      if (b !== box && holds && above(b.y)) place(b, PAD, WIDTH, true);
      else if (b === box || (b.start >= box.start && b.start + b.weight <= end && !above(b.y) && b.y !== box.y))
        place(b, PAD + (b.start - box.start) * scale, b.weight * scale, false);
      else b.g.classList.add("hidden");
    }
    reset.classList.toggle("hidden", box === whole);
    count();
    remember();
  }

  // A match within a match counts once.
  function count() {
    let sum = 0, covered = -1;
    for (const b of boxes) {
      const hit = pattern !== null && b !== whole && pattern.test(b.name);
      const shown = b.start >= root.start && b.start + b.weight <= root.start + root.weight;
      b.g.classList.toggle("match", hit);
      if (hit && shown && b.start >= covered) {
        sum += b.weight;
        covered = b.start + b.weight;
      }
    }
    sum = Math.min(sum, root.weight);
    matched.textContent = pattern ? `matched ${(100 * sum / root.weight).toFixed(2)}%` : " ";
    get("search").textContent = pattern ? "clear search" : "search";
  }

  function search(text) {
    try {
      pattern = text ? new RegExp(text) : null;
    } catch {
      pattern = new RegExp(text.replace(/[^\w]/g, "\\$&"));
    }
    count();
    remember();
  }

  function remember() {
    const parts = [];
    if (root !== whole) parts.push(`x=${root.start},${root.weight},${root.y}`);
    if (pattern) parts.push("s=" + encodeURIComponent(pattern.source));
    try {
      history.replaceState(null, "", parts.length ? "#" + parts.join("&") : location.pathname);
    } catch { /* not allowed where the file is embedded */ }
  }

  function recall() {
    const state = new URLSearchParams(location.hash.slice(1));
    const text = state.get("s"), at = (state.get("x") || "").split(",").map(Number);
    const box = boxes.find((b) => b.start === at[0] && b.weight === at[1] && b.y === at[2]);
    if (text) search(text);
    if (box) zoom(box);
  }

  const boxByElement = new Map(boxes.map((b) => [b.g, b]));
  const boxOf = (target) => boxByElement.get(target.closest("#frames > g"));
  const promptSearch = () => pattern ? search("") : search(prompt("Find functions (regular expression)", "") || "");
  area.addEventListener("click", (ev) => boxOf(ev.target) && zoom(boxOf(ev.target)));
  area.addEventListener("mouseover", (ev) => {
    const box = boxOf(ev.target);
    details.textContent = box ? box.title : " ";
  });
  area.addEventListener("mouseleave", () => { details.textContent = " "; });
  reset.addEventListener("click", () => zoom(whole));
  get("search").addEventListener("click", promptSearch);
  window.addEventListener("keydown", (ev) => {
    if (ev.key === "Escape") { search(""); zoom(whole); }
    if (ev.key === "/" || ((ev.ctrlKey || ev.metaKey) && ev.key === "f")) { ev.preventDefault(); promptSearch(); }
  });
  recall();
})();
