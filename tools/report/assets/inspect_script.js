const data = JSON.parse(document.getElementById("data").textContent);
if (!data.graphs.length) {  // a model without a graph
  data.graphs.push({path: "", inputs: [], outputs: [], initializers: [], tensors: [], nodes: []});
  data.folding.push({scopes: [], scope_of: [], constants: []});
}
const $ = id => document.getElementById(id);
const canvas = $("canvas"), pen = canvas.getContext("2d");
const readable = .8, titleHeight = 26, rowHeight = 17, mostRows = 4;
const titleFont = "600 13px system-ui, 'Segoe UI', sans-serif", rowFont = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

// ---- colours

const families = [
  [/Conv/, "#d3e4fa", "#1f3d61"], [/MatMul|Gemm|Einsum|Attention/, "#ddd8fa", "#38306a"], [/Norm|Softmax/, "#fbe7c3", "#51401a"],
  [/Pool|Reduce|ArgM/, "#cdebe3", "#1d4a40"], [/LSTM|GRU|RNN/, "#f9d6e8", "#572a43"], [/Relu|Sigmoid|Tanh|Gelu|Elu|Swish|Clip|Erf|Softplus/, "#f9d8d2", "#5a2d28"],
  [/^(If|Loop|Scan|SequenceMap)$/, "#f3c9c9", "#5e2626"], [/Quantize/, "#e2efc2", "#394a1a"],
  [/Reshape|Transpose|Concat|Split|Slice|Gather|[Ss]queeze|Flatten|Pad|Expand|Tile|Shape|Cast|Identity|Constant/, "#e3e7ed", "#333c48"]];
// By size: none, up to 2 standard deviations of the noise, then a power of ten each.
const sizes = [["#dfe4ea", "#303a45"], ["#cfe8d5", "#23472f"], ["#fdeaa8", "#5b4d12"], ["#fbc77d", "#734a10"], ["#f19165", "#8f4420"], ["#d9534a", "#b03a34"]];
const sizeLabels = ["none", "≤ 2 σ", "≤ 10 σ", "≤ 100 σ", "≤ 1000 σ", "more"];
let theme = "light", ink = {}, byDeviation = false;
const dark = () => theme === "dark" ? 1 : 0;

function setTheme(to) {
  theme = to;
  document.documentElement.dataset.theme = to;
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "soft", "line", "edge", "paper", "accent", "hit", "error", "warning", "info", "node", "node-line", "input", "output", "scope"]) ink[name] = style.getPropertyValue("--" + name).trim();
  draw();
}

// ---- state: which graph, what is folded, what is chosen

let current = 0, fold = null, open = new Set(), view = {x: 0, y: 0, scale: 1}, chosen = -1, shown = null, hits = [], hit = -1, hitBoxes = new Set();
let tensors = new Map(), types = new Map();
const kept = new Map();  // fold and open of graphs that were looked at
const graph = () => data.graphs[current];
const graphIndex = new Map(data.graphs.map((g, i) => [g.path, i]));

function tensorsOf(which) {
  const found = new Map();
  for (const tensor of data.graphs[which].tensors) found.set(tensor.name, tensor);
  for (const node of data.graphs[which].nodes) if (node.constant) found.set(node.outputs[0], node.constant);
  return found;
}
/// The graph around a subgraph.
function outerGraph(which) {
  const steps = data.graphs[which].path.split(" / ");
  return steps.length > 2 ? graphIndex.get(steps.slice(0, -2).join(" / ")) : undefined;
}
const tensorTables = new Map();
function tensorNamed(name, which = current) {
  for (let g = which; g !== undefined; g = outerGraph(g)) {
    if (!tensorTables.has(g)) tensorTables.set(g, tensorsOf(g));
    if (tensorTables.get(g).has(name)) return tensorTables.get(g).get(name);
  }
  return undefined;
}

// ---- what reports say, by graph and node

const severities = ["info", "warning", "error"];
const findingsAt = new Map(), deviationsAt = new Map();
for (const [rows, at] of [[data.marks.findings, findingsAt], [data.marks.deviations, deviationsAt]]) {
  for (const row of rows) {
    const key = row.graph + " " + row.node;
    if (!at.has(key)) at.set(key, []);
    at.get(key).push(row);
  }
}
const hasMarks = data.marks.reports.length > 0, hasDeviations = data.marks.deviations.length > 0;

/// A step of `sizes`: how far a value is off.
function sizeOf(layer) {
  if (layer.verdict === "identical") return 0;
  if (["mismatch", "beyond tolerance"].includes(layer.verdict)) return 5;
  if (!layer.total) return layer.verdict === "not rounding" ? 5 : 0;
  const rms = number(layer.total.rms);
  return rms === 0 ? 0 : rms <= 2 ? 1 : rms <= 10 ? 2 : rms <= 100 ? 3 : rms <= 1000 ? 4 : 5;
}
/// Of nodes: how many findings, the most severe, and the largest deviation; -1 where nothing was compared.
function marksOf(nodes) {
  let amount = 0, severity = -1, size = -1, guilty = false;
  for (const n of nodes) {
    for (const row of findingsAt.get(current + " " + n) || []) { ++amount; severity = Math.max(severity, severities.indexOf(row.said.severity)); }
    for (const row of deviationsAt.get(current + " " + n) || []) { size = Math.max(size, sizeOf(row.said)); guilty ||= row.said.guilty; }
  }
  return {amount, severity, size, guilty};
}

// ---- boxes

const widths = new Map();
function textWidth(text, font) {
  const key = font + text;
  if (!widths.has(key)) { pen.font = font; widths.set(key, pen.measureText(text).width); }
  return widths.get(key);
}
const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

/// "W ⟨64×3×7×7⟩" for each initializer or constant that a node reads.
function weightRows(node) {
  const rows = [];
  node.inputs.forEach((name, k) => {
    const tensor = name && !fold.source.has(name) ? tensorNamed(name) : undefined;
    if (!tensor) return;
    const formal = (node.formal_inputs || [])[k] || String(k), whole = wholeValue(tensor);
    rows.push(cut(`${formal} ${whole && whole.length <= 24 ? "= " + whole : `⟨${shapeText(tensor.shape)}⟩`}`, 38));
  });
  return rows.length > mostRows ? [...rows.slice(0, mostRows - 1), `${rows.length - mostRows + 1} more`] : rows;
}
function outputText(node) {
  const type = node.output_types.find(text => text && text !== "?");
  if (!type) return "";
  return cut(type, 36) + (node.outputs.length > 1 ? ` +${node.outputs.length - 1}` : "");
}
function operatorsOf(nodes) {
  const amounts = new Map();
  for (const n of nodes) amounts.set(graph().nodes[n].op, (amounts.get(graph().nodes[n].op) || 0) + 1);
  return [...amounts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

function fillBox(box) {
  if (box.kind === "node") {
    const node = graph().nodes[box.index];
    box.nodes = [box.index];
    box.title = cut(node.op, 40);
    box.rows = weightRows(node);
    box.foot = outputText(node);
  } else if (box.kind === "scope") {
    const scope = fold.scopes[box.index];
    box.title = cut(scopeTitle(fold, box.index), 44) + (scope.repeats ? `  ×${scope.scopes.length}` : "");
    box.rows = [plural(scope.size, "node"), cut(operatorsOf(box.nodes).slice(0, 3).map(([op, n]) => `${op} ${n}`).join(", "), 40)];
    box.foot = "";
  } else {
    const value = graph()[box.kind + "s"][box.index];
    box.title = cut(value.name, 40);
    box.rows = [];
    box.foot = value.type === "?" ? "" : cut(value.type, 36);
    box.nodes = [];
  }
  const texts = [...box.rows, box.foot].map(text => textWidth(text, rowFont));
  box.width = Math.max(56, Math.ceil(Math.max(textWidth(box.title, titleFont), ...texts)) + 24);
  box.height = titleHeight + (box.rows.length + (box.foot ? 1 : 0)) * rowHeight + (box.rows.length || box.foot ? 6 : 0);
  box.marks = hasMarks ? marksOf(box.nodes) : {amount: 0, severity: -1, size: -1};
}

/// Computes the drawing. `keep` is a function of the new drawing that gives a box, and where on the screen it shall be.
function arrange(keep) {
  const fresh = drawn(fold, open);
  fresh.boxes.forEach(fillBox);
  Object.assign(fresh, layOut(fresh.boxes, fresh.edges));
  fresh.layers = fresh.tops.map(() => []);
  fresh.boxes.forEach((box, i) => fresh.layers[box.layer].push(i));
  fresh.into = fresh.boxes.map(() => []);
  fresh.outOf = fresh.boxes.map(() => []);
  fresh.edges.forEach(([from, to], e) => { fresh.outOf[from].push(e); fresh.into[to].push(e); });
  shown = fresh;
  chosen = -1;
  if (keep) {
    const [box, x, y] = keep(fresh);
    if (box !== undefined) { view.x = x - fresh.boxes[box].x * view.scale; view.y = y - fresh.boxes[box].y * view.scale; }
  }
  markHits();
  draw();
}

// ---- painting

function resize() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  draw();
}

let queued = false;
function draw() {
  if (queued || !shown) return;
  queued = true;
  requestAnimationFrame(() => { queued = false; paint(); });
}

/// Without what an earlier edge of the same value draws, if `skips`: drawn twice, a line looks thicker.
function trace(edge, e, skips) {
  const from = shown.boxes[edge[0]], to = shown.boxes[edge[1]], bends = shown.bends[e], first = skips ? shown.shared[e] : 0;
  let [x, , y] = first ? bends[first - 1] : [from.x, 0, from.y + from.height / 2];
  pen.moveTo(x, y);
  const go = (qx, qy) => {
    const bow = Math.min(Math.abs(qy - y) * .6, 46);
    if (Math.abs(qx - x) < .5) pen.lineTo(qx, qy);
    else pen.bezierCurveTo(x, y + bow, qx, qy - bow, qx, qy);
    x = qx;
    y = qy;
  };
  // A layer's other boxes may be taller than this one: straight down to the layer's end first.
  const below = shown.tops[from.layer] + shown.heights[from.layer];
  if (y < below && to.layer > from.layer) { pen.lineTo(x, below); y = below; }
  for (const [bx, top, bottom] of bends.slice(first)) { go(bx, top); pen.lineTo(bx, bottom); y = bottom; }
  go(to.x, to.y - to.height / 2);
}

function arrowHead(edge) {
  const to = shown.boxes[edge[1]], x = to.x, y = to.y - to.height / 2;
  pen.moveTo(x - 4, y - 7);
  pen.lineTo(x, y);
  pen.lineTo(x + 4, y - 7);
}

function paintEdges(top, bottom) {
  const near = chosen < 0 ? new Set() : new Set([...shown.into[chosen], ...shown.outOf[chosen]]);
  const spanned = edge => {
    const a = shown.boxes[edge[0]].y, b = shown.boxes[edge[1]].y;
    return Math.max(a, b) + 200 >= top && Math.min(a, b) - 200 <= bottom;
  };
  const stroke = (edges, colour, width, skips) => {
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    for (const e of edges) trace(shown.edges[e], e, skips);
    pen.stroke();
    if (view.scale < .3) return;
    pen.beginPath();
    for (const e of edges) arrowHead(shown.edges[e]);
    pen.fill();
  };
  const far = [];
  shown.edges.forEach((edge, e) => { if (!near.has(e) && spanned(edge)) far.push(e); });
  const thin = Math.max(1.2, .7 / view.scale);
  stroke(far, ink.edge, thin, near.size === 0);
  if (near.size) stroke(near, ink.accent, thin * 1.9, false);
}

function headColour(box) {
  if (byDeviation && box.kind !== "input" && box.kind !== "output") return box.marks.size < 0 ? ink.node : sizes[box.marks.size][dark()];
  if (box.kind === "input") return ink.input;
  if (box.kind === "output") return ink.output;
  if (box.kind === "scope") return ink.scope;
  const family = families.find(([pattern]) => pattern.test(box.title));
  return family ? family[1 + dark()] : ink.node;
}

/// A box at a size at which nothing in it can be read: a spot of its colour, never less than a point.
function paintSpot(box, i) {
  const width = Math.max(box.width, 1.5 / view.scale), height = Math.max(box.height, 1.5 / view.scale);
  pen.fillStyle = box.marks.severity >= 0 && !byDeviation ? ink[severities[box.marks.severity]] : hitBoxes.has(i) ? ink.hit : headColour(box);
  pen.fillRect(box.x - width / 2, box.y - height / 2, width, height);
  pen.strokeStyle = i === chosen || hitBoxes.has(i) ? ink.accent : ink["node-line"];
  pen.lineWidth = (i === chosen ? 2.5 : .6) / view.scale;
  if (box.width * view.scale > 4 || i === chosen) pen.strokeRect(box.x - width / 2, box.y - height / 2, width, height);
  const letters = Math.min(height * .7, (width - 6) / textWidth(box.title, titleFont) * 13);
  if (letters * view.scale < 6) return;
  pen.font = titleFont.replace("13px", letters + "px");
  pen.fillStyle = ink.ink;
  pen.fillText(box.title, box.x, box.y);
}

function outline(box, grow = 0) {
  const radius = box.kind === "input" || box.kind === "output" ? Math.min(box.height / 2, 17) : 7;
  pen.beginPath();
  pen.roundRect(box.x - box.width / 2 - grow, box.y - box.height / 2 - grow, box.width + 2 * grow, box.height + 2 * grow, radius + grow);
}

function paintBox(box, i) {
  const left = box.x - box.width / 2, top = box.y - box.height / 2;
  if (box.kind === "scope") {  // a pile
    for (const shift of fold.scopes[box.index].repeats ? [8, 4] : [4]) {
      pen.beginPath();
      pen.roundRect(left + shift, top + shift, box.width, box.height, 7);
      pen.fillStyle = ink.scope;
      pen.strokeStyle = ink["node-line"];
      pen.lineWidth = 1;
      pen.fill();
      pen.stroke();
    }
  }
  outline(box);
  pen.fillStyle = hitBoxes.has(i) ? ink.hit : box.kind === "input" || box.kind === "output" ? headColour(box) : ink.node;
  pen.fill();
  if (!hitBoxes.has(i) && box.kind !== "input" && box.kind !== "output") {
    pen.save();
    pen.clip();
    pen.fillStyle = headColour(box);
    pen.fillRect(left, top, box.width, titleHeight);
    pen.restore();
  }
  outline(box);
  pen.strokeStyle = i === chosen ? ink.accent : byDeviation && box.marks.guilty ? ink.error : ink["node-line"];
  pen.lineWidth = i === chosen ? 2.5 : byDeviation && box.marks.guilty ? 2.5 : 1;
  pen.stroke();
  pen.fillStyle = ink.ink;
  pen.font = titleFont;
  pen.fillText(box.title, box.x, top + titleHeight / 2 + .5);
  pen.font = rowFont;
  let y = top + titleHeight + rowHeight / 2 + 3;
  for (const row of box.rows) { pen.fillText(row, box.x, y); y += rowHeight; }
  pen.fillStyle = ink.soft;
  if (box.foot) pen.fillText(box.foot, box.x, y);
  if (box.marks.severity >= 0) paintBadge(left + box.width - 2, top + 2, box.marks);
}

function paintBadge(x, y, {amount, severity}) {
  const text = amount > 99 ? "99+" : String(amount);
  pen.font = "700 10px system-ui, sans-serif";
  const width = Math.max(16, pen.measureText(text).width + 8);
  pen.beginPath();
  pen.roundRect(x - width / 2, y - 8, width, 16, 8);
  pen.fillStyle = ink[severities[severity]];
  pen.fill();
  pen.fillStyle = dark() ? "#12161c" : "#fff";
  pen.fillText(text, x, y + .5);
}

function paint() {
  const ratio = window.devicePixelRatio || 1, {x, y, scale} = view;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.translate(x, y);
  pen.scale(scale, scale);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  const top = -y / scale, bottom = (height - y) / scale, left = -x / scale, right = (width - x) / scale;
  paintEdges(top, bottom);
  shown.layers.forEach((members, l) => {
    if (shown.tops[l] > bottom || shown.tops[l] + shown.heights[l] + 10 < top) return;
    for (const i of members) {
      const box = shown.boxes[i];
      if (box.x + box.width / 2 + 10 < left || box.x - box.width / 2 > right) continue;
      if (scale < .3) paintSpot(box, i); else paintBox(box, i);
    }
  });
}

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

// ---- the panel of details

function choose(i) {
  chosen = i;
  const panel = $("details");
  panel.hidden = i < 0;
  if (i >= 0) describe(panel, shown.boxes[i]);
  draw();
}

function closeButton(act) {
  const close = element("button", "×", "close");
  close.setAttribute("aria-label", "close");
  close.onclick = act;
  return close;
}

/// The scopes around, each a button that folds it.
function crumbs(scope) {
  const row = element("div", undefined, "crumbs");
  row.append(element("span", "in", "soft"));
  for (const s of scopesAround(fold, scope)) {
    const button = link(fold.scopes[s].label, () => { setOpen(s, false); choose(shown.boxOfScope.get(s) ?? -1); });
    button.title = "fold this scope";
    row.append(button);
  }
  return row;
}

function describeScope(panel, box) {
  const scope = fold.scopes[box.index];
  panel.append(element("h2", scopePath(fold, box.index)));
  if (scope.parent !== null) panel.append(crumbs(scope.parent));
  panel.append(element("p", scope.repeats ? `${scope.scopes.length} blocks of one structure, ${plural(scope.size, "node")} in all` : plural(scope.size, "node")));
  panel.append(link("unfold", () => { setOpen(box.index, true); choose(-1); }));
  section(panel, "operators", operatorsOf(box.nodes).map(([op, amount]) => element("div", `${op}  ${count(amount)}`, "row")));
  const marked = box.nodes.filter(n => (findingsAt.get(current + " " + n) || []).length || (deviationsAt.get(current + " " + n) || []).some(row => row.said.guilty));
  section(panel, "marked nodes", marked.slice(0, 200).map(n => {
    const row = element("div", undefined, "row");
    row.append(link(graph().nodes[n].name || graph().nodes[n].op, () => goTo("node", n)));
    return row;
  }));
}

/// A value that a node reads or writes: what the operator calls it, its name, type, and content where the model holds it.
function valueRow(name, formal, k, type, act) {
  const row = element("div", undefined, "row"), label = formal || String(k);
  const tensor = name && act === undefined ? tensorNamed(name) : undefined;
  const head = element("span");
  head.append(element("span", label, "formal"), act ? link(name, act, "name") : element("span", name || "(omitted)", name ? "name" : "soft"));
  if (!tensor) {
    row.append(head);
    if (type && type !== "?") row.append(" ", element("span", type, "type"));
    return row;
  }
  const whole = wholeValue(tensor), held = element("details"), line = element("summary");
  line.append(head, " ", element("span", `${tensorTitle(tensor)}${whole && whole.length < 60 ? " = " + whole : ""}`, "type"));
  held.append(line);
  held.ontoggle = () => { if (held.open && held.childElementCount === 1) held.append(tensorPanel(tensor)); };
  row.append(held);
  return row;
}

function typeOf(name) {
  const from = fold.source.get(name);
  if (!from) return "";
  if (from[0] === "input") return graph().inputs[from[1]].type;
  const node = graph().nodes[from[1]];
  return node.output_types[node.outputs.indexOf(name)];
}

/// "then_branch = graph of 3 nodes" leads to that graph.
function attributeRow(text, n) {
  const row = element("div", undefined, "row"), name = text.split(" = ")[0], inner = graphIndex.get(`${graph().path} / node ${n} / ${name}`);
  row.append(inner === undefined ? element("span", text) : link(text, () => show(inner)));
  return row;
}

function readersOf(names) {
  const rows = [];
  graph().nodes.forEach((node, n) => { if (node.inputs.some(v => names.has(v)) || node.captures.some(v => names.has(v))) rows.push(["node", n, node.name ? `${node.op} “${node.name}”` : `${node.op}, node ${n}`]); });
  graph().outputs.forEach((output, i) => { if (names.has(output.name)) rows.push(["output", i, `output “${output.name}”`]); });
  return rows.map(([kind, i, text]) => {
    const row = element("div", undefined, "row");
    row.append(link(text, () => goTo(kind, i)));
    return row;
  });
}

function describeNode(panel, n) {
  const node = graph().nodes[n], called = graphIndex.get("function " + node.op);
  const title = element("h2");
  title.append(called === undefined ? breakable(node.op) : link(node.op, () => show(called)));
  panel.append(title);
  if (fold.scopeOf[n] !== null) panel.append(crumbs(fold.scopeOf[n]));
  panel.append(facts([["name", node.name], ["node", String(n)], ["version", node.version === undefined ? "" : String(node.version)],
    ["multiply-adds", node.multiply_adds === null ? "" : quantity(node.multiply_adds)], ["parameters", node.parameters ? count(node.parameters) : ""],
    ["output bytes", node.output_bytes === null ? "" : typeof node.output_bytes === "number" ? bytes(node.output_bytes) : node.output_bytes], ["doc", node.doc]]));
  section(panel, "findings", (findingsAt.get(current + " " + n) || []).map(row => findingRow(row.said, data.marks.reports[row.report])));
  section(panel, "deviations", (deviationsAt.get(current + " " + n) || []).map(row => deviationRow(row.said, data.marks.reports[row.report])));
  section(panel, "attributes", node.attributes.map(text => attributeRow(text, n)));
  if (node.constant) section(panel, "value", [tensorPanel(node.constant)]);
  const toSource = name => { const from = fold.source.get(name); return from && (() => goTo(from[0], from[1])); };
  section(panel, "inputs", node.inputs.map((name, k) => valueRow(name, (node.formal_inputs || [])[k], k, typeOf(name), toSource(name))));
  section(panel, "read by its subgraphs", node.captures.map((name, k) => valueRow(name, "", k, typeOf(name), toSource(name))));
  section(panel, "outputs", node.outputs.map((name, k) => valueRow(name, (node.formal_outputs || [])[k], k, node.output_types[k], null)));
  section(panel, "read by", readersOf(new Set(node.outputs.filter(name => name))));
  section(panel, "metadata", (node.metadata || []).map(entry => element("div", `${entry.key}: ${entry.value}`, "row")));
}

function describe(panel, box) {
  panel.replaceChildren(closeButton(() => choose(-1)));
  panel.scrollTop = 0;
  if (box.kind === "scope") return describeScope(panel, box);
  if (box.kind === "node") return describeNode(panel, box.index);
  const value = graph()[box.kind + "s"][box.index];
  panel.append(element("h2", value.name), element("p", box.kind === "input" ? "input of the graph" : "output of the graph"), element("div", value.type, "row type"));
  if (box.kind === "input") section(panel, "read by", readersOf(new Set([value.name])));
  const from = box.kind === "output" ? fold.source.get(value.name) : undefined;
  if (from) section(panel, "made by", [link(from[0] === "node" ? graph().nodes[from[1]].op : value.name, () => goTo(...from))]);
  const tensor = from ? undefined : tensorNamed(value.name);
  if (tensor) section(panel, "value", [tensorPanel(tensor)]);
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

// ---- the panel of the model, and that of the reports

function toggle(which, fill) {
  const panel = $("summary"), same = !panel.hidden && panel.dataset.shows === which;
  panel.hidden = same;
  $("facts-toggle").setAttribute("aria-pressed", !same && which === "model");
  $("marks").setAttribute("aria-pressed", !same && which === "marks");
  if (same) return;
  panel.dataset.shows = which;
  panel.replaceChildren(closeButton(() => toggle(which, fill)));
  panel.scrollTop = 0;
  fill(panel);
}

function table(rows) {
  const made = element("table");
  rows.forEach(cells => {
    const row = element("tr");
    cells.forEach((cell, i) => row.append(element("td", typeof cell === "number" ? count(cell) : cell, i && typeof cell === "number" ? "number" : "")));
    made.append(row);
  });
  return made;
}

function fillSummary(panel) {
  const main = data.graphs[0], add = (title, rows) => rows.length && section(panel, title, [table(rows)]);
  panel.append(element("h2", data.path));
  panel.append(facts([["graph", main.name], ["IR version", String(data.ir_version ?? "none")], ["opsets", data.opsets.map(o => `${o.domain} ${o.version}`).join(", ")], ["producer", data.producer || "unknown"],
    ["domain", data.domain], ["model version", data.model_version === null ? "" : String(data.model_version)], ["multiply-adds", quantity(data.multiply_adds)],
    ["activations at the peak", bytes(data.activation_peak_bytes)], ["outside the model file", bytes(data.external_bytes)], ["free sizes", data.free_dims.join(", ")], ["doc", data.doc]]));
  add("inputs", main.inputs.map(v => [v.name, v.type]));
  add("outputs", main.outputs.map(v => [v.name, v.type]));
  add("parameters", data.parameters.map(p => [p.type, `${count(p.elements)} in ${plural(p.tensors, "tensor")}`, bytes(p.bytes)]));
  add("operators", data.operators.map(o => [o.op, o.count]));
  add("functions", data.functions.map(f => [f.name, `${plural(f.nodes, "node")}, ${plural(f.calls, "call")}`]));
  add("metadata", data.metadata.map(m => [m.key, m.value]));
}

function fillMarks(panel) {
  const most = 500, {reports, findings, deviations, unmatched} = data.marks;
  panel.append(element("h2", "reports"), table(reports.map(report => [report.title, report.file])));
  const jump = row => link(`${data.graphs[row.graph].path} / node ${row.node}`, () => { if (current !== row.graph) show(row.graph); goTo("node", row.node); });
  const listed = (title, rows, make) => section(panel, `${title} (${count(rows.length)})`, rows.slice(0, most).map(row => {
    const made = make(row);
    if (row.graph !== undefined) made.prepend(jump(row));
    return made;
  }));
  const place = row => element("p", row.said.place && row.said.place.path || "the model as a whole", "soft");
  if (unmatched.length) {
    listed("without a node of this model", unmatched, row => {
      const made = row.list === "findings" ? findingRow(row.said, reports[row.report]) : deviationRow(row.said, reports[row.report]);
      made.prepend(place(row));
      return made;
    });
  }
  if (findings.length) listed("findings", findings, row => findingRow(row.said, reports[row.report]));
  const off = deviations.filter(row => row.said.guilty || sizeOf(row.said) > 1).sort((a, b) => b.said.guilty - a.said.guilty || sizeOf(b.said) - sizeOf(a.said));
  if (deviations.length) panel.append(element("p", `${plural(deviations.length, "value")} inside the graph compared, ${count(off.length)} of them off by more than the noise of rounding.`));
  if (off.length) listed("deviations", off, row => deviationRow(row.said, reports[row.report]));
}

function fillLegend() {
  const legend = $("legend");
  legend.hidden = !byDeviation;
  legend.replaceChildren(element("div", "deviation in standard deviations of the noise of rounding"));
  const scale = element("div", undefined, "scale"), ticks = element("div", undefined, "ticks");
  sizes.forEach((pair, i) => {
    const spot = element("span");
    spot.style.background = pair[dark()];
    scale.append(spot);
    ticks.append(element("span", document.createTextNode(sizeLabels[i])));
  });
  legend.append(scale, ticks);
}

function setColours(to) {
  byDeviation = to;
  $("colours").setAttribute("aria-pressed", to);
  fillLegend();
  draw();
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
