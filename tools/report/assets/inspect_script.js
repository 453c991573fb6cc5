"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const canvas = $("canvas"), pen = canvas.getContext("2d");
const boxHeight = 34;
let current = 0, view = {x: 0, y: 0, scale: 1}, chosen = -1, hits = [], hit = -1, hitSet = new Set(), index = null;

const colours = [
  [/^(Conv|ConvTranspose|.*Conv.*)$/, "#dbe9fb"], [/^(MatMul|Gemm|.*MatMul.*|Einsum|Attention|.*Attention)$/, "#e4e0fb"],
  [/Norm|Softmax/, "#fdeccf"], [/Pool|Reduce|ArgM/, "#d8f0ea"], [/LSTM|GRU|RNN/, "#fbdfee"],
  [/Relu|Sigmoid|Tanh|Gelu|Elu|Swish|Clip|Erf/, "#fbe0dc"], [/If|Loop|Scan|SequenceMap/, "#f6d6d6"],
  [/Quantize/, "#eaf3d2"], [/Reshape|Transpose|Concat|Split|Slice|Gather|Squeeze|Flatten|Pad|Expand|Tile|Shape|Cast|Identity|Constant/, "#eceff3"]];
const colourOf = op => (colours.find(([pattern]) => pattern.test(op)) || [0, "#ffffff"])[1];

const graph = () => data.graphs[current];
const drawing = () => data.drawings[current];
const boxLabel = box => box[0] === 0 ? graph().nodes[box[1]].op : box[0] === 1 ? graph().inputs[box[1]].name : graph().outputs[box[1]].name;

function grouped(number) { return typeof number === "number" ? number.toLocaleString("en-US") : number ?? "unknown"; }
function bytes(number) {
  if (typeof number !== "number") return number ?? "unknown";
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit < 4) { number /= 1024; ++unit; }
  return (unit ? number.toFixed(1) : number) + " " + units[unit];
}
function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function buildIndex() {
  // Boxes by layer, so that drawing and picking touch only what is in sight.
  const layers = new Map();
  drawing().boxes.forEach((box, i) => {
    if (!layers.has(box[3])) layers.set(box[3], []);
    layers.get(box[3]).push(i);
  });
  index = {layers: [...layers.entries()].sort((a, b) => a[0] - b[0]), into: new Map(), outOf: new Map()};
  drawing().edges.forEach((edge, i) => {
    if (!index.outOf.has(edge[0])) index.outOf.set(edge[0], []);
    if (!index.into.has(edge[1])) index.into.set(edge[1], []);
    index.outOf.get(edge[0]).push(i);
    index.into.get(edge[1]).push(i);
  });
  const boxes = drawing().boxes;
  index.spans = drawing().edges.map(edge => [boxes[edge[0]][3], boxes[edge[1]][3]]);
}

function resize() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  draw();
}

let queued = false;
function draw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => { queued = false; paint(); });
}

function paint() {
  const ratio = window.devicePixelRatio || 1, {x, y, scale} = view;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.translate(x, y);
  pen.scale(scale, scale);
  const top = -y / scale - 60, bottom = (height - y) / scale + 60, left = -x / scale - 200, right = (width - x) / scale + 200;
  const boxes = drawing().boxes;
  pen.lineWidth = Math.min(1.4 / scale, 2.5);
  const near = new Set([...(index.into.get(chosen) || []), ...(index.outOf.get(chosen) || [])]);
  const trace = edge => {
    const from = boxes[edge[0]], to = boxes[edge[1]];
    let px = from[2], py = from[3] + boxHeight / 2;
    pen.moveTo(px, py);
    const go = (qx, qy) => { const middle = (py + qy) / 2; pen.bezierCurveTo(px, middle, qx, middle, qx, qy); px = qx; py = qy; };
    for (let i = 3; i < edge.length; i += 2) go(edge[i], edge[i + 1]);
    go(to[2], to[3] - boxHeight / 2);
  };
  pen.strokeStyle = "#a9b4c2";
  pen.beginPath();
  drawing().edges.forEach((edge, i) => {
    const [from, to] = index.spans[i];
    if (Math.max(from, to) >= top && Math.min(from, to) <= bottom && !near.has(i)) trace(edge);
  });
  pen.stroke();
  if (near.size) {
    pen.strokeStyle = "#0b62c4";
    pen.lineWidth *= 1.8;
    pen.beginPath();
    near.forEach(i => trace(drawing().edges[i]));
    pen.stroke();
  }
  pen.font = "13px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const [layerY, members] of index.layers) {
    if (layerY < top || layerY > bottom) continue;
    for (const i of members) {
      const box = boxes[i];
      if (box[2] + box[4] / 2 < left || box[2] - box[4] / 2 > right) continue;
      const label = boxLabel(box);
      pen.fillStyle = hitSet.has(i) ? "#ffe66b" : box[0] === 1 ? "#d9f2df" : box[0] === 2 ? "#f9dcd9" : colourOf(label);
      pen.strokeStyle = i === chosen ? "#0b62c4" : "#8492a5";
      pen.lineWidth = (i === chosen ? 2.5 : 1) / Math.max(scale, .4);
      pen.beginPath();
      pen.roundRect(box[2] - box[4] / 2, box[3] - boxHeight / 2, box[4], boxHeight, box[0] === 0 ? 6 : 17);
      pen.fill();
      pen.stroke();
      if (scale < .35) continue;
      pen.fillStyle = "#1d2530";
      const shown = label.length > 40 ? label.slice(0, 38) + "…" : label;
      pen.fillText(shown, box[2], box[3]);
    }
  }
  if (scale >= .75) paintTypes(top, bottom);
}

function paintTypes(top, bottom) {
  pen.font = "10.5px ui-monospace, Menlo, Consolas, monospace";
  pen.fillStyle = "#5d6b7d";
  pen.strokeStyle = "#f6f8fa";
  pen.lineWidth = 4;
  for (const [layerY, members] of index.layers) {
    if (layerY < top || layerY > bottom) continue;
    for (const i of members) {
      const box = drawing().boxes[i];
      if (box[0] === 2) continue;
      const type = box[0] === 1 ? graph().inputs[box[1]].type : graph().nodes[box[1]].output_types[0];
      if (!type || type === "?") continue;
      const shown = type.length > 34 ? type.slice(0, 32) + "…" : type;
      pen.strokeText(shown, box[2], box[3] + boxHeight / 2 + 9);
      pen.fillText(shown, box[2], box[3] + boxHeight / 2 + 9);
    }
  }
}

function fit() {
  const {width, height} = drawing();
  const scale = Math.min(canvas.clientWidth / (width + 80), canvas.clientHeight / (height + 80), 1.2);
  // A graph too large for the window starts at its top, at a size that can be read.
  const readable = Math.max(scale, .8);
  view = {scale: readable, x: (canvas.clientWidth - width * readable) / 2, y: (canvas.clientHeight - height * readable) / 2};
  if (scale < readable && index.layers.length) {
    const top = index.layers.slice(0, 6).flatMap(([, members]) => members).map(i => drawing().boxes[i][2]);
    view.x = canvas.clientWidth / 2 - top.reduce((sum, x) => sum + x, 0) / top.length * readable;
    view.y = 16;
  }
  draw();
}

function centre(i) {
  const box = drawing().boxes[i];
  view.scale = Math.max(view.scale, .9);
  view.x = canvas.clientWidth / 2 - box[2] * view.scale;
  view.y = canvas.clientHeight / 2 - box[3] * view.scale;
  draw();
}

function zoom(factor, px, py) {
  const scale = Math.min(4, Math.max(.01, view.scale * factor));
  factor = scale / view.scale;
  view = {scale, x: px - (px - view.x) * factor, y: py - (py - view.y) * factor};
  draw();
}

function pick(px, py) {
  const x = (px - view.x) / view.scale, y = (py - view.y) / view.scale;
  for (const [layerY, members] of index.layers) {
    if (Math.abs(layerY - y) > boxHeight / 2) continue;
    const found = members.find(i => Math.abs(drawing().boxes[i][2] - x) <= drawing().boxes[i][4] / 2);
    if (found !== undefined) return found;
  }
  return -1;
}

function choose(i) {
  chosen = i;
  const panel = $("details");
  panel.hidden = i < 0;
  if (i >= 0) describe(panel, i);
  draw();
}

function describe(panel, i) {
  panel.replaceChildren();
  const close = element("button", "×", "close");
  close.onclick = () => choose(-1);
  panel.append(close);
  const box = drawing().boxes[i];
  if (box[0] !== 0) {
    const value = box[0] === 1 ? graph().inputs[box[1]] : graph().outputs[box[1]];
    panel.append(element("h2", value.name), element("div", box[0] === 1 ? "input of the graph" : "output of the graph", "row"), element("div", value.type, "row type"));
    return;
  }
  const node = graph().nodes[box[1]];
  panel.append(element("h2", node.op), element("div", `node ${box[1]}${node.name ? " “" + node.name + "”" : ""}`, "row"));
  if (node.multiply_adds !== null) panel.append(element("div", `${grouped(node.multiply_adds)} multiply-adds`, "row"));
  const section = (title, rows) => {
    if (!rows.length) return;
    panel.append(element("h3", title));
    rows.forEach(row => panel.append(row));
  };
  section("attributes", node.attributes.map(text => element("div", text, "row")));
  const sources = new Map((index.into.get(i) || []).map(e => [drawing().edges[e][2], drawing().edges[e][0]]));
  const initializers = new Set(graph().initializers);
  section("inputs", node.inputs.map((name, k) => {
    const row = element("div", undefined, "row");
    const link = element("span", `${k}  ${name || "(omitted)"}`, sources.has(name) ? "jump" : "");
    if (sources.has(name)) link.onclick = () => { choose(sources.get(name)); centre(sources.get(name)); };
    row.append(link);
    if (initializers.has(name)) row.append(element("span", "  initializer", "type"));
    return row;
  }));
  section("outputs", node.outputs.map((name, k) => {
    const row = element("div", undefined, "row");
    row.append(element("span", `${k}  ${name || "(omitted)"}  `), element("span", node.output_types[k], "type"));
    return row;
  }));
  section("read by", (index.outOf.get(i) || []).map(e => {
    const to = drawing().edges[e][1];
    const row = element("div", boxLabel(drawing().boxes[to]), "row jump");
    row.onclick = () => { choose(to); centre(to); };
    return row;
  }));
}

function search() {
  const word = $("search").value.trim().toLowerCase();
  hits = [];
  if (word) {
    drawing().boxes.forEach((box, i) => {
      const texts = box[0] === 0 ? [graph().nodes[box[1]].op, graph().nodes[box[1]].name, ...graph().nodes[box[1]].inputs, ...graph().nodes[box[1]].outputs] : [boxLabel(box)];
      if (texts.some(text => text.toLowerCase().includes(word))) hits.push(i);
    });
  }
  hitSet = new Set(hits);
  hit = -1;
  if (hits.length) step(1); else { $("hits").textContent = word ? "none" : ""; draw(); }
}

function step(by) {
  if (!hits.length) return;
  hit = (hit + by + hits.length) % hits.length;
  $("hits").textContent = `${hit + 1} of ${hits.length}`;
  choose(hits[hit]);
  centre(hits[hit]);
}

function summary() {
  const panel = $("summary");
  panel.hidden = !panel.hidden;
  if (panel.childElementCount) return;
  const close = element("button", "×", "close");
  close.onclick = () => { panel.hidden = true; };
  panel.append(close);
  const table = (title, rows) => {
    if (!rows.length) return;
    panel.append(element("h3", title));
    const made = element("table");
    rows.forEach(cells => {
      const row = element("tr");
      cells.forEach((cell, i) => row.append(element("td", String(cell), i && typeof cell === "number" ? "number" : "")));
      made.append(row);
    });
    panel.append(made);
  };
  table("model", [["IR version", data.ir_version ?? "none"], ["opsets", data.opsets.map(o => `${o.domain} ${o.version}`).join(", ")], ["producer", data.producer || "unknown"],
    ["multiply-adds", grouped(data.multiply_adds)], ["activations at the peak", bytes(data.activation_peak_bytes)], ["outside the model file", bytes(data.external_bytes)]]);
  table("inputs", data.graphs[0] ? data.graphs[0].inputs.map(v => [v.name, v.type]) : []);
  table("outputs", data.graphs[0] ? data.graphs[0].outputs.map(v => [v.name, v.type]) : []);
  table("parameters", data.parameters.map(p => [p.type, `${grouped(p.elements)} in ${p.tensors} tensors`, bytes(p.bytes)]));
  table("operators", data.operators.map(o => [o.op, o.count]));
  table("functions", data.functions.map(f => [f.name, `${f.nodes} nodes, ${f.calls} calls`]));
  table("metadata", data.metadata.map(m => [m.key, m.value]));
}

function show(which) {
  current = which;
  chosen = -1;
  $("details").hidden = true;
  buildIndex();
  search();
  fit();
}

const pointers = new Map();
let moved = 0, spread = 0;
canvas.addEventListener("pointerdown", event => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
  moved = 0;
  spread = 0;
  canvas.classList.add("dragging");
});
canvas.addEventListener("pointermove", event => {
  const last = pointers.get(event.pointerId);
  if (!last) return;
  pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
  if (pointers.size === 2) {
    const [a, b] = [...pointers.values()];
    const now = Math.hypot(a[0] - b[0], a[1] - b[1]);
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
  if (moved < 5 && event.type === "pointerup") choose(pick(event.offsetX, event.offsetY));
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .0015)), event.offsetX, event.offsetY);
}, {passive: false});
window.addEventListener("resize", resize);
window.addEventListener("keydown", event => {
  if (event.target.tagName === "INPUT") { if (event.key === "Enter") step(event.shiftKey ? -1 : 1); return; }
  if (event.key === "/") { event.preventDefault(); $("search").focus(); }
  if (event.key === "f") fit();
  if (event.key === "Escape") choose(-1);
});
$("search").addEventListener("input", search);
$("next").onclick = () => step(1);
$("previous").onclick = () => step(-1);
$("fit").onclick = fit;
$("facts-toggle").onclick = summary;
$("graphs").onchange = event => show(Number(event.target.value));

const nodes = data.graphs.reduce((sum, g) => sum + g.nodes.length, 0);
const parameters = data.parameters.reduce((sum, p) => sum + p.elements, 0);
$("title").textContent = data.path;
$("facts").textContent = [data.producer, data.opsets.map(o => `${o.domain} ${o.version}`).join(", "), `${grouped(nodes)} nodes`, `${grouped(parameters)} parameters`, typeof data.multiply_adds === "number" ? `${grouped(data.multiply_adds)} multiply-adds` : ""].filter(Boolean).join(" · ");
document.title = `${data.path} · onnxkit inspect`;
data.graphs.forEach((g, i) => { const option = element("option", `${g.path} (${g.nodes.length})`); option.value = i; $("graphs").append(option); });
if (data.graphs.length) { resize(); show(0); }
