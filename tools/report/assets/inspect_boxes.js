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
