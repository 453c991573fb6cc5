// ---- moving about

const margin = 40;
const fitScale = () => Math.min(canvas.clientWidth / (shown.width + 2 * margin), canvas.clientHeight / (shown.height + 2 * margin), 1.2);
/// How far one can zoom out: a little beyond the whole graph.
const leastScale = () => Math.min(fitScale() * .7, .5);

function fit() {
  const scale = fitScale();
  view = {scale, x: (canvas.clientWidth - shown.width * scale) / 2, y: (canvas.clientHeight - shown.height * scale) / 2};
  draw();
}

/// The whole graph where it can be read, else its beginning.
function start() {
  fit();
  if (view.scale >= .55 || !shown.boxes.length) return;
  const first = shown.layers.slice(0, 4).flat().map(i => shown.boxes[i].x);
  view = {scale: readable, x: canvas.clientWidth / 2 - first.reduce((sum, x) => sum + x, 0) / first.length * readable, y: 24};
  draw();
}

/// What of the drawing no panel covers.
function clearArea() {
  const area = {left: 0, right: canvas.clientWidth, top: 0, bottom: canvas.clientHeight};
  for (const id of ["details", "summary"]) {
    const panel = $(id);
    if (panel.hidden) continue;
    if (panel.offsetWidth > canvas.clientWidth * .8) area.bottom = Math.min(area.bottom, Math.max(120, panel.offsetTop));
    else if (id === "details") area.right = panel.offsetLeft;
    else area.left = panel.offsetLeft + panel.offsetWidth;
  }
  return area.right - area.left > 240 ? area : {...area, left: 0, right: canvas.clientWidth};
}

function centre(i) {
  const box = shown.boxes[i], area = clearArea();
  view.scale = Math.max(view.scale, .9);
  view.x = (area.left + area.right) / 2 - box.x * view.scale;
  view.y = (area.top + area.bottom) / 2 - box.y * view.scale;
  draw();
}

function zoom(factor, px = canvas.clientWidth / 2, py = canvas.clientHeight / 2) {
  const scale = Math.min(4, Math.max(leastScale(), view.scale * factor));
  factor = scale / view.scale;
  view = {scale, x: px - (px - view.x) * factor, y: py - (py - view.y) * factor};
  draw();
}

function pick(px, py) {
  const x = (px - view.x) / view.scale, y = (py - view.y) / view.scale, slack = Math.max(0, 6 / view.scale - 10);
  for (const [l, members] of shown.layers.entries()) {
    if (shown.tops[l] - slack > y || shown.tops[l] + shown.heights[l] + slack < y) continue;
    const found = members.find(i => Math.abs(shown.boxes[i].x - x) <= shown.boxes[i].width / 2 + slack && Math.abs(shown.boxes[i].y - y) <= shown.boxes[i].height / 2 + slack);
    if (found !== undefined) return found;
  }
  return -1;
}

// ---- folding

function setOpen(scope, isOpen) {
  const before = shown.boxOfScope.get(scope);
  const x = canvas.clientWidth / 2, y = canvas.clientHeight / 2, at = before === undefined ? null : shown.boxes[before];
  if (isOpen) open.add(scope); else open.delete(scope);
  arrange(fresh => {
    const inside = fresh.boxOfScope.get(scope) ?? firstInside(fresh, scope);
    return at ? [inside, at.x * view.scale + view.x, at.y * view.scale + view.y] : [inside, x, y];
  });
}

/// The first box of what a scope holds.
function firstInside(fresh, scope) {
  const holds = new Set([scope]);
  fold.scopes.forEach((s, i) => { if (holds.has(s.parent)) holds.add(i); });
  for (const [i, box] of fresh.boxes.entries()) {
    if (box.kind === "scope" && holds.has(box.index)) return i;
    if (box.kind === "node" && holds.has(fold.scopeOf[box.index])) return i;
  }
  return undefined;
}

function setAll(isOpen) {
  open = isOpen ? new Set(fold.scopes.keys()) : new Set();
  kept.set(current, {fold, open});
  choose(-1);
  arrange();
  start();
}

/// Opens the scopes around a node, and gives its box.
function reveal(n) {
  const closed = scopesAround(fold, fold.scopeOf[n]).filter(s => !open.has(s));
  if (closed.length) {
    closed.forEach(s => open.add(s));
    arrange();
  }
  return shown.boxOfNode.get(n);
}

function goTo(kind, index) {
  if (kind === "node" && fold.constants.has(index)) index = graph().nodes.findIndex(node => [...node.inputs, ...node.captures].includes(graph().nodes[index].outputs[0]));
  const box = kind === "node" ? reveal(index) : kind === "input" ? shown.boxOfInput.get(index) : shown.boxes.findIndex(b => b.kind === kind && b.index === index);
  if (box === undefined || box < 0) return;
  choose(box);
  centre(box);
}

// ---- search

/// Hits as [kind, index]. A folded constant stands in the boxes of its readers: they are hits, by the name of the input.
function search() {
  const word = $("search").value.trim().toLowerCase();
  hits = [];
  const has = text => text.toLowerCase().includes(word);
  if (word) {
    graph().inputs.forEach((value, i) => { if (has(value.name)) hits.push(["input", i]); });
    graph().nodes.forEach((node, n) => {
      if (!fold.constants.has(n) && (has(node.op) || has(node.name) || node.inputs.some(has) || node.outputs.some(has))) hits.push(["node", n]);
    });
    graph().outputs.forEach((value, i) => { if (has(value.name)) hits.push(["output", i]); });
  }
  hit = -1;
  markHits();
  $("hits").textContent = word ? hits.length ? `${count(hits.length)} found` : "none" : "";
  if (hits.length) step(1); else draw();
}

/// Boxes that are hits or hold some.
function markHits() {
  hitBoxes = new Set(hits.map(([kind, i]) => {
    if (kind === "input") return shown.boxOfInput.get(i);
    if (kind === "output") return shown.boxes.length - graph().outputs.length + i;
    if (shown.boxOfNode.has(i)) return shown.boxOfNode.get(i);
    return undefined;
  }));
}

function step(by) {
  if (!hits.length) return;
  hit = (hit + by + hits.length) % hits.length;
  $("hits").textContent = `${count(hit + 1)} of ${count(hits.length)}`;
  goTo(...hits[hit]);
}

// ---- which graph

function show(which) {
  current = which;
  $("graphs").value = which;
  if (!kept.has(which)) {
    const made = foldingOf(graph(), data.folding[which]);
    kept.set(which, {fold: made, open: openAtStart(made)});
  }
  ({fold, open} = kept.get(which));
  $("folds").hidden = !fold.scopes.length;
  hits = [];
  choose(-1);
  arrange();
  start();
  if ($("search").value) search();
}

// ---- events

const pointers = new Map();
let moved = 0, spread = 0;
canvas.addEventListener("pointerdown", event => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
  if (pointers.size === 1) moved = 0;
  spread = 0;
  canvas.classList.add("dragging");
});
canvas.addEventListener("pointermove", event => {
  const last = pointers.get(event.pointerId);
  if (!last) return;
  pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
  if (pointers.size === 2) {
    const [a, b] = [...pointers.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
    if (spread) zoom(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
    spread = now;
    moved += 10;
    return;
  }
  view.x += event.offsetX - last[0];
  view.y += event.offsetY - last[1];
  moved += Math.abs(event.offsetX - last[0]) + Math.abs(event.offsetY - last[1]);
  draw();
});
const release = event => {
  if (!pointers.delete(event.pointerId)) return;
  spread = 0;
  canvas.classList.remove("dragging");
  if (moved >= 5 || event.type !== "pointerup") return;
  const found = pick(event.offsetX, event.offsetY);
  if (found < 0 || shown.boxes[found].kind !== "scope" || view.scale < .3) return choose(found);
  choose(-1);
  setOpen(shown.boxes[found].index, true);
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .0015)), event.offsetX, event.offsetY);
}, {passive: false});
window.addEventListener("resize", resize);
window.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.tagName === "INPUT") { if (event.key === "Enter") step(event.shiftKey ? -1 : 1); return; }
  if (event.key === "/") { event.preventDefault(); $("search").focus(); }
  if (event.key === "f") fit();
  if (event.key === "+" || event.key === "=") zoom(1.3);
  if (event.key === "-") zoom(1 / 1.3);
  if (event.key === "Escape") choose(-1);
  const pan = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[event.key];
  if (pan && event.target === canvas) { view.x += pan[0]; view.y += pan[1]; draw(); }
});
$("search").addEventListener("input", search);
$("next").onclick = () => step(1);
$("previous").onclick = () => step(-1);
$("fit").onclick = fit;
$("closer").onclick = () => zoom(1.4);
$("farther").onclick = () => zoom(1 / 1.4);
$("fold-all").onclick = () => setAll(false);
$("open-all").onclick = () => setAll(true);
$("facts-toggle").onclick = () => toggle("model", fillSummary);
$("marks").onclick = () => toggle("marks", fillMarks);
$("colours").onclick = () => setColours(!byDeviation);
$("graphs").onchange = event => show(Number(event.target.value));
const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
let themeIsChosen = false;
$("theme").onclick = () => { themeIsChosen = true; setTheme(theme === "dark" ? "light" : "dark"); fillLegend(); };
wantsDark.addEventListener("change", event => { if (!themeIsChosen) { setTheme(event.matches ? "dark" : "light"); fillLegend(); } });

const fileName = data.path === "-" ? "standard input" : data.path.split("/").pop();
document.title = fileName + " · onnxkit inspect";
$("title").append(breakable(fileName));
const allNodes = data.graphs.reduce((sum, g) => sum + g.nodes.length, 0), allElements = data.parameters.reduce((sum, p) => sum + p.elements, 0);
$("facts").append(breakable([data.opsets.map(o => `${o.domain} ${o.version}`).join(", "), plural(allNodes, "node"), plural(allElements, "parameter"), data.multiply_adds > 0 ? `${count(data.multiply_adds)} multiply-adds` : ""].filter(text => text).join(" · ")));
data.graphs.forEach((g, i) => {
  const option = element("option", document.createTextNode(`${g.path} (${plural(g.nodes.length, "node")})`));
  option.value = i;
  $("graphs").append(option);
});
$("graphs").hidden = data.graphs.length < 2;
if (hasMarks) {
  $("marks").hidden = false;
  $("marks").textContent = data.marks.findings.length + data.marks.unmatched.length ? plural(data.marks.findings.length + data.marks.unmatched.length, "finding") : "report";
}
$("colours").hidden = !hasDeviations;
setTheme(wantsDark.matches ? "dark" : "light");
resize();
show(0);
if (hasDeviations) setColours(true);
