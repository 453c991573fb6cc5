// The page, built from the data. Whatever comes from there becomes text nodes, never markup.
const data = JSON.parse(document.getElementById("data").textContent);
const worstFirst = ["mismatch", "not rounding", "beyond tolerance", "not compared", "undecidable", "rounding", "within tolerance", "identical"];
const several = data.sets.length > 1;

const sigmaLegend = "One sigma is how far rounding moves an element in this model, as perturbed runs show; rms is over the elements.";

/// "main / node 17 Conv “conv4”"
function placeText(place) {
  const parts = [...place.scope.map(visible)];
  if (place.node !== undefined) parts.push("node " + place.node);
  return parts.join(" / ") + (place.op ? " " + visible(place.op) : "") + (place.node_name ? ` “${visible(place.node_name)}”` : "");
}

const sigmas = floor => floor ? `${short(floor.rms)} / ${short(floor.largest)}` : "–";
const shownFloor = output => output.floors.find(floor => floor.profile === output.profile) || output.floors[0];

// ---- head

function title() {
  if (!data.compared) return data.sides.length ? "Nothing could be compared" : "Nothing was compared";
  const failed = data.sides.filter(side => side.failure).length;
  return verdictTitle() + (failed ? `; ${counted(failed, "side")} failed` : "");
}

function verdictTitle() {
  return {
    "identical": "All answers are identical", "within tolerance": "All answers are within tolerance", "rounding": "The answers differ by rounding only",
    "undecidable": "The answers differ only where rounding decides", "not compared": "Not every answer could be compared",
    "beyond tolerance": "Answers differ by more than the tolerance", "not rounding": "Answers differ by more than rounding", "mismatch": "Answers do not match",
  }[data.verdict] || data.verdict;
}

function head() {
  document.title = "onnxkit diff: " + title();
  const models = [...new Set(data.sides.map(side => side.model).filter(Boolean))];
  const top = el("header", el("div.eyebrow", "onnxkit diff"), el("h1", title()));
  if (models.length) {
    const line = el("p.soft");
    models.forEach((model, i) => line.append(i ? ", " : "", code(model)));
    line.append(` on ${counted(data.sides.length, "side")} and ${counted(data.sets.length, "set")} of inputs`);
    top.append(line);
  }
  const sentences = el("ul.sentences");
  data.sides.forEach((side, i) => {
    if (i === data.base && !side.failure) return;
    const changed = side.outputs.some(output => !output.outcome.same);
    const kind = side.failure ? "bad" : changed && kindOf(side.verdict) === "fine" ? "unsure" : kindOf(side.verdict);
    sentences.append(el("li." + kind, el("span.who", given(side.label)), el("span.what", given(side.summary))));
  });
  if (sentences.childElementCount) top.append(sentences);
  return top;
}

// ---- verdicts of all outputs and sides

/// Its name, or how many of all they are.
const setsOf = group => group.sets.length === 1 ? given(group.sets[0]) : el("span.whole", `${count(group.sets.length)} of ${count(data.sets.length)}`);
const byVerdict = (a, b) => worstFirst.indexOf(a.verdict) - worstFirst.indexOf(b.verdict);

function verdicts() {
  const sides = data.sides.filter(side => side.groups.length);
  if (!sides.length) return null;
  const types = new Map();
  sides.forEach(side => side.groups.forEach(group => types.has(group.name) || types.set(group.name, group.type)));
  const names = [...types.keys()];
  return named("section", {id: "verdicts"}, el("h2", "Verdicts"), several ? verdictsOverSets(names, sides) : table(["output", "type", ...sides.map(side => given(side.label))],
    names.map(name => [code(name), el("span.type", visible(types.get(name))), ...sides.map(side => side.groups.find(group => group.name === name)).map(group => group ? chip(group.verdict, group.profile) : "–")]),
    "Verdict of every output on every side", true));
}

/// A row for every output of every side, or more where not all sets of inputs got the same verdict.
function verdictsOverSets(names, sides) {
  const rows = names.flatMap(name => sides.flatMap(side => side.groups.filter(group => group.name === name).sort(byVerdict).map(group => [
    code(name), given(side.label), chip(group.verdict, group.profile), setsOf(group), short(group.metrics?.max_absolute), short(group.metrics?.range_relative),
    el("span.whole", sigmas(shownFloor(group))), group.worst && group.sets.length > 1 ? given(group.worst.set) : ""])));
  return el("div", el("p.soft", "Figures are over all sets of a row: the largest |d| of any, the root mean square of the sigmas over all their elements. ", sigmaLegend),
    table(["output", "side", "verdict", "sets", ">|d| up to", ">of the range", ">sigmas, rms / largest", "most in"], rows, "Verdict of every output on every side, sets of inputs together", true));
}

// ---- one output

function figuresOf(output) {
  const m = output.metrics, made = el("dl.figures");
  const add = (name, value) => made.append(el("div", el("dt", name), el("dd", value)));
  if (m) {
    add("largest |d|", short(m.max_absolute));
    add("of the range", short(m.range_relative));
    add("mean |d|", short(m.mean_absolute));
    add("root mean square", short(m.rmse));
    add("largest in ulps", short(m.max_ulps) + (number(m.range_relative) < number(m.max_relative) / 100 ? " (near 0)" : ""));
    add("cosine", number(m.cosine) === 1 ? "1" : number(m.cosine) > .999 ? "1 − " + short(1 - number(m.cosine), 2) : short(m.cosine, 5));
    add("equal elements", `${count(m.equal)} of ${count(m.elements)}`);
    if (m.sign_flips) add("sign flips", count(m.sign_flips));
    if (m.nan_mismatches) add("NaN on one side", count(m.nan_mismatches));
    if (m.inf_mismatches) add("infinite on one side", count(m.inf_mismatches));
  }
  if (output.flips) add("rounding can flip", count(output.flips));
  Object.entries(output.outcome.figures).forEach(([name, value]) => add(visible(name), short(value, 4)));
  return made.childElementCount ? made : null;
}

function floors(output) {
  if (!output.floors.length) return null;
  const rows = output.floors.map(floor => [floor.profile, short(floor.rms), short(floor.largest), el("span.whole", floor.healthy ? "✓ explained by it" : "✕ more than that")]);
  return el("figure", caption("Compared with rounding", "in sigmas; explained where rms is at most 2 (more for few elements) and the largest at most 12"),
    table(["arithmetic", ">rms", ">largest", ""], rows, "Deviation by arithmetic"));
}

function worst(output) {
  const rows = output.metrics.worst.map(element => {
    const a = number(element.a), b = number(element.b);
    return [count(element.index), short(element.a, 9), short(element.b, 9), short(b - a)];
  });
  return rows.length ? el("figure", caption("Worst elements", "index in row-major order; d = b − a"), table(["element", ">a", ">b", ">d"], rows, "Worst elements")) : null;
}

function plotsOf(output) {
  const made = el("div.plots"), m = output.metrics;
  const zeros = output.histogram.zeros;
  if (output.histogram.bins.some(n => n > 0)) {
    const text = `${counted(m.compared - zeros, "element")} ${m.compared - zeros === 1 ? "differs" : "differ"}, ${count(zeros)} ${zeros === 1 ? "is" : "are"} equal`;
    made.append(el("figure", caption("How large the differences are", text), drawHistogram(output.histogram, `Histogram of |d|: ${text}, the largest |d| is ${short(m.max_absolute)}`)));
  }
  const scatter = output.scatter || {a: [], d: []};
  const points = scatter.a.map((a, i) => [number(a), number(scatter.d[i])]).filter(pair => pair.every(isFinite));
  if (points.length > 1 && m.max_absolute !== 0) {
    const alpha = number(m.alpha), beta = number(m.beta), sign = beta < 0 ? "−" : "+";
    const fit = `b = ${short(alpha, 6)} a ${sign} ${short(Math.abs(beta))}, R² = ${short(m.r2, 6)}, residual ${short(m.residual)}`;
    made.append(
      el("figure", caption("b over a", fit), drawPoints(points.map(([a, d]) => [a, a + d]), {slope: alpha, offset: beta, diagonal: true, xTitle: "a", yTitle: "b", label: `b over a of ${counted(points.length, "element")}; fitted line ${fit}`})),
      el("figure", caption("Difference over a", alpha === 1 && beta === 0 ? "no linear part" : "the line is the linear part of the difference"),
        drawPoints(points, {slope: alpha - 1, offset: beta, diagonal: false, xTitle: "a", yTitle: "d = b − a", label: `Difference over a of ${counted(points.length, "element")}`})));
  }
  if (!output.scatter) made.append(el("p.soft", "Only the worst outputs of a side have all plots."));
  return made.childElementCount ? made : null;
}

function confusion(triples) {
  const off = triples.filter(([a, b]) => a !== b).sort((x, y) => y[2] - x[2]);
  const rows = d3.sum(triples, t => t[2]), different = d3.sum(off, t => t[2]);
  if (rows < 2) return null;
  const text = off.length ? `${count(different)} of ${counted(rows, "row")} have another class` : `the same class in all ${counted(rows, "row")}`;
  // Where there are many classes only those that are confused are drawn.
  let classes = [...new Set(triples.flatMap(t => [t[0], t[1]]))].sort(d3.ascending);
  if (classes.length > 30) classes = [...new Set(off.slice(0, 12).flatMap(t => [t[0], t[1]]))].sort(d3.ascending);
  const pair = el("div.pair");
  if (classes.length) {
    const drawn = triples.filter(([a, b]) => classes.includes(a) && classes.includes(b));
    pair.append(el("figure", caption("Class by argmax", text + (drawn.length < triples.length ? "; of the most confused classes" : "")), drawConfusion(drawn, classes, "Confusion of argmax: " + text)));
  }
  if (off.length) pair.append(el("figure", caption("Rows with another class", off.length > 10 ? `the 10 most frequent of ${count(off.length)} kinds` : ""),
    table(["a", ">b", ">rows"], off.slice(0, 10).map(t => t.map(count)), "Rows with another class")));
  return pair;
}

function segmentation(output) {
  const maps = output.maps;
  if (!maps) return null;
  const a = unpacked(maps.a), b = unpacked(maps.b), total = maps.height * maps.width;
  const rgb = colour => [colour.r, colour.g, colour.b];
  const palette = new Map([...new Set([...a, ...b])].sort(d3.ascending).map(name => [name, rgb(classColour(name))]));
  const grey = ([r, g, blue]) => Array(3).fill(225 - (.3 * r + .59 * g + .11 * blue) * .25);
  const same = maps.different === 0 ? "no pixel differs" : `${count(maps.different)} of ${count(total)} pixels (${short(100 * maps.different / total)} %)`;
  const picture = (title, text, colourAt) => el("figure", caption(title, text), drawMap(maps, `${title}: ${text}`, colourAt));
  const made = el("div", el("div.maps", picture("a", `expected, ${maps.width} × ${maps.height}`, i => palette.get(a[i])), picture("b", "this side", i => palette.get(b[i])),
    picture("Where they disagree", same, i => a[i] === b[i] ? grey(palette.get(a[i])) : [213, 0, 60])));
  if (maps.step > 1) made.append(el("p.soft", `Drawn at 1/${maps.step} of the size; a point stands for ${maps.step} × ${maps.step} pixels and is marked where one of them disagrees.`));
  const iou = output.outcome.class_iou || [];
  const rows = [...palette].map(([name, colour]) => {
    const swatch = el("span.swatch");
    swatch.style.background = `rgb(${colour.join()})`;
    return [el("span", swatch, String(name)), name < iou.length ? short(iou[name], 4) : "–", count(a.filter(c => c === name).length), count(b.filter(c => c === name).length)];
  });
  made.append(table(["class", ">IoU", ">points in a", ">points in b"], rows, "Classes of the maps"));
  return made;
}

/// What is said and drawn of one set of inputs.
function partsOf(output) {
  const drawn = output.metrics ? [plotsOf(output), confusion(output.outcome.confusion || []), segmentation(output)] : [];
  return [note(output), figuresOf(output), ...drawn, el("div.pair", floors(output), output.metrics && worst(output))];
}

function note({verdict, why}, set) {
  return why ? el("p.note" + (kindOf(verdict) === "bad" ? ".bad" : ""), set ? el("span.soft", given(set), ": ") : "", given(why)) : null;
}

/// What is said and drawn of all sets of a group, then of one of them.
function partsOverSets(side, group) {
  const pair = confusion(group.outcome.confusion || []) || el("div.pair");
  pair.append(...[floors(group)].filter(Boolean));
  return [el("h3", `${count(group.sets.length)} sets of inputs together`), note(group, group.sets[0]), figuresOf(group), pair, oneSet(side, group)];
}

/// A set of inputs chosen from a list, the furthest off at first.
function oneSet(side, group) {
  const select = el("select", ...group.outputs.map((position, i) => {
    const floor = shownFloor(side.outputs[position]);
    return named("option", {value: position}, visible(group.sets[i]) + (group.worst?.output === position ? " (most)" : "") + (floor ? `: ${sigmas(floor)} sigmas` : ""));
  }));
  const place = el("div");
  const show = () => place.replaceChildren(...partsOf(side.outputs[select.value]).filter(Boolean));
  select.value = group.worst?.output ?? group.outputs[0];
  select.addEventListener("change", show);
  show();
  return el("div.one", el("h3", el("label", "One set of inputs ", select)), place);
}

/// One output over the sets of inputs that got the same verdict.
function groupPanel(side, group, open) {
  const summary = el("summary", el("span.title", code(group.name)), el("span.type", visible(group.type)), chip(group.verdict, group.profile));
  if (several) summary.append(el("span.fact", setsOf(group), group.sets.length > 1 ? " sets" : ""));
  if (group.metrics && group.verdict !== "identical") summary.append(el("span.fact", `|d| up to ${short(group.metrics.max_absolute)}`));
  const floor = shownFloor(group);
  if (floor) summary.append(named("span", {class: "fact", title: sigmaLegend}, `${sigmas(floor)} sigmas (rms / largest) of ${floor.profile}`));
  const parts = () => group.outputs.length === 1 ? partsOf(side.outputs[group.outputs[0]]) : partsOverSets(side, group);
  const panel = el("details", summary);
  panel.open = open;
  // A panel is filled when it is first opened: a report may have hundreds.
  panel.fill = () => panel.childElementCount > 1 || panel.append(el("div.body", ...parts().filter(Boolean)));
  panel.addEventListener("toggle", () => panel.open && panel.fill());
  if (open) panel.fill();
  return panel;
}

// ---- layers of one side

function layersPanel(side) {
  const layers = side.layers;
  const culprit = side.first_guilty !== null && side.first_guilty < layers.length ? side.first_guilty : null;
  const readout = named("div.readout", {"aria-live": "polite"});
  const isOneNode = layer => !layer.stretch || layer.stretch.nodes.length === 1 && layer.stretch.side_nodes.length === 1;
  const nodeText = layer => placeText(layer.place) + (isOneNode(layer) ? "" : " and the nodes before it");
  const few = (list, name) => list.slice(0, 8).map(item => name(item)).join(", ") + (list.length > 8 ? ` and ${list.length - 8} more` : "");
  const subgraphText = ({stretch}) => `somewhere in the nodes that compute it from ${few(stretch.from, visible)}: ${stretch.nodes.length} of the first model (${few(stretch.nodes, placeText)}), ` +
    `${stretch.side_nodes.length} of this side (${few(stretch.side_nodes, placeText)})`;
  const show = i => {
    const layer = layers[i];
    readout.replaceChildren(el("b", given(nodeText(layer))), layer.guilty ? i === culprit ? "  first culprit" : "  culprit" : i === culprit ? "  deviates first" : "", el("br"), "own deviation ", sigmas(layer.own),
      ", inherited ", sigmas(layer.inherited), ", total ", sigmas(layer.total), ` sigmas (rms / largest), |d| up to ${short(layer.max_absolute)}; `, chip(layer.verdict), el("br"),
      code(layer.value), " ", el("span.type", visible(layer.type)), ...isOneNode(layer) ? [] : [el("br"), given(subgraphText(layer))]);
  };
  show(culprit ?? 0);
  const blamed = layers.filter(layer => layer.guilty).length;
  const first = culprit === null ? "" : isOneNode(layers[culprit]) ? placeText(layers[culprit].place) : `somewhere in the ${layers[culprit].stretch.nodes.length} nodes that compute ${visible(layers[culprit].value)}`;
  const text = (culprit === null ? "no node deviates by more than rounding on its own" : !blamed ? `the first value that deviates is ${first}` : `the first node with its own deviation is ${first}` +
    (blamed > 1 ? `, one of ${blamed}` : "")) + (side.not_looked_at ? `; ${count(side.not_looked_at)} more that deviate were not examined` : "") + (side.layers_note ? `; ${visible(side.layers_note)}` : "");
  const key = (kind, path, words) => {
    const sign = document.createElementNS("http://www.w3.org/2000/svg", "svg"), stroke = document.createElementNS("http://www.w3.org/2000/svg", "path");
    sign.setAttribute("viewBox", "0 0 22 12");
    sign.setAttribute("aria-hidden", "true");
    stroke.setAttribute("class", kind);
    stroke.setAttribute("d", path);
    stroke.setAttribute("stroke-width", path.endsWith("h0") ? 5 : 2);
    sign.append(stroke);
    return el("span", sign, words);
  };
  const weight = layer => layer.guilty ? Infinity : layer.own ? number(layer.own.rms) : 0;
  const worst = layers.map((layer, i) => [layer, i]).filter(([layer]) => layer.stretch).sort(([x, i], [y, j]) => weight(y) === weight(x) ? i - j : weight(y) - weight(x)).slice(0, 10).sort((x, y) => x[1] - y[1]);
  const rows = worst.map(([layer]) => Object.assign([given(nodeText(layer)), sigmas(layer.own), sigmas(layer.inherited), sigmas(layer.total), chip(layer.verdict)], {marked: layer.guilty}));
  const made = el("div.panel", el("figure", caption("Deviation along the graph", `${counted(layers.length, "value")} compared; ${text}`),
    drawLayers(layers, culprit, `Deviation along the graph: ${text}. The arrow keys move along the nodes.`, show),
    el("div.key", key("mark", "M1,6h20", "total, within the model"), key("second", "M11,6h0", "the node alone, on exact inputs"), key("alarm", "M7,2l8,8m0,-8l-8,8", "alone, more than rounding"), el("span.hint", "Point at a node, or use the arrow keys, to see it.")), readout));
  if (rows.length) made.append(el("h3", "Own and inherited deviations"), table(["node", ">own, rms / largest", ">inherited", ">total", "the value is"], rows, "Own and inherited deviations", true));
  for (const layer of layers.filter(layer => layer.guilty && !isOneNode(layer)).slice(0, 10)) made.append(el("p", code(layer.value), " is wrong ", given(subgraphText(layer))));
  return made;
}

// ---- one side

function logPanel(side) {
  const text = side.log.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").split(/\r\n|\n|\r/).map(visible).join("\n").trimEnd();
  if (!text) return null;
  const panel = el("details", el("summary", el("span.title", "What it printed last")), el("div.body", named("pre", {tabindex: "0"}, text)));
  panel.open = Boolean(side.failure);
  return panel;
}

function sidePanel(side, i) {
  const runtime = [side.backend === side.label ? "" : side.backend, side.version, side.device].filter(Boolean).map(visible).join(" ");
  const made = named("section", {id: "side" + i}, el("h2", given(side.label), runtime ? el("span.soft", " " + runtime) : ""));
  if (i !== data.base && side.outputs.length) made.append(el("p.soft", "a is what ", given(data.sides[data.base].label), " returned, b what this side returned, d = b − a."));
  side.warnings.forEach(warning => made.append(el("p.note", given(warning))));
  if (side.failure) made.append(failurePanel(side));
  if (side.log) made.append(...[logPanel(side)].filter(Boolean));
  if (side.layers.length) made.append(layersPanel(side));
  const most = 16, order = several || side.groups.length > most ? [...side.groups].sort(byVerdict) : side.groups;
  const bad = order.filter(group => kindOf(group.verdict) === "bad");
  const opened = new Set((bad.length ? bad : order.filter(group => group.verdict !== "identical")).slice(0, bad.length ? 3 : 1));
  order.slice(0, most).forEach(group => made.append(groupPanel(side, group, opened.has(group))));
  if (order.length > most) {
    const rest = el("details", el("summary", el("span.title", `${count(order.length - most)} more outputs`), el("span.fact", "the worst are above")));
    rest.addEventListener("toggle", () => rest.childElementCount > 1 || rest.append(el("div.body", ...order.slice(most).map(group => groupPanel(side, group, false)))));
    made.append(rest);
  }
  return made;
}

// ---- runtimes, and what was run

function runtimes() {
  const timed = side => side.seconds.runs.length > 0;
  const sides = data.sides.filter(timed);
  if (!sides.length) return null;
  const first = number(data.sides[data.base].seconds.median_wall);
  const samples = (side, key) => side.seconds.runs.map(run => number(run[key])).filter(isFinite);
  const rows = data.sides.filter(side => timed(side) || side.failure).map(side => {
    if (!timed(side)) return [given(side.label), el("span.failed", `✕ failed at ${visible(side.failure.at)}`)];
    const wall = samples(side, "wall"), median = number(side.seconds.median_wall);
    return [given(side.label), count(wall.length), count(side.seconds.warmups), seconds(median), seconds(d3.min(wall)), seconds(d3.max(wall)), seconds(side.seconds.median_cpu), seconds(side.seconds.load), first > 0 ? short(median / first) + " ×" : "–"];
  });
  const plots = sides.flatMap(side => ["wall", "cpu"].map(key => [`${visible(side.label)}, ${key}`, samples(side, key), key === "cpu"]))
    .filter(row => row[1].length && row[1].every(v => v > 0));
  const words = "every run is a point; the box holds the middle half, the bar is the median";
  return named("section", {id: "times"}, el("h2", "Runtimes"), el("div.panel", !plots.length ? "" : el("figure", caption("Time of a run", words),
    drawTimes(plots, `Times of runs: ${sides.map(side => `${visible(side.label)} ${seconds(side.seconds.median_wall)}`).join(", ")} (medians of wall time)`)),
    table(["side", ">runs", ">warm-ups", ">median", ">fastest", ">slowest", ">median CPU", ">loading", ">ratio"], rows, "Runtimes", true)));
}

function setting() {
  const made = named("section", {id: "setting"}, el("h2", "What was run"));
  const rows = data.sides.map(side => [given(side.label), given(side.backend), given(side.version || "–"), given(side.device || "–"), side.model ? fileOf(side.model) : code("–"),
    given(Object.entries(side.options).map(([key, value]) => `${key} = ${value}`).join(", ") || "–")]);
  if (rows.length) made.append(table(["side", "backend", "version", "device", "model", "options"], rows, "Sides", true));
  const sets = el("span");
  data.sets.slice(0, 30).forEach((set, i) => sets.append(i ? ", " : "", given(set)));
  if (data.sets.length > 30) sets.append(` and ${count(data.sets.length - 30)} more`);
  const floor = data.noise_floor;
  made.append(el("h3", "Inputs and noise floor"), list([["inputs", sets], ["noise floor", floor.note ? given("none: " + floor.note) : `the exact answer and perturbed runs, ${seconds(floor.seconds)}`]]));
  made.append(el("h3", "Glossary"), list([
    ["identical", "bit for bit"], ["within tolerance", "within a tolerance that was set"],
    ["rounding", "explained by rounding in the named arithmetic"], ["undecidable", "only elements differ that rounding can flip, such as a tie of argmax"],
    ["not compared", "no noise floor was available and no tolerance was set"], ["beyond tolerance", "beyond a tolerance that was set"],
    ["not rounding", "more than rounding in any tested arithmetic explains"], ["mismatch", "another type, shape or number of elements, or NaN or infinity on one side only"],
    ["sigma", "the standard deviation of an element due to rounding, estimated from perturbed runs"],
  ]));
  return made;
}

function build() {
  const sides = data.sides.map((side, i) => [side, i]).filter(([side, i]) => i !== data.base || side.failure || side.warnings.length || side.log);
  const parts = [["verdicts", "Verdicts", verdicts()], ...sides.map(([side, i]) => ["side" + i, side.label, sidePanel(side, i)]), ["times", "Runtimes", runtimes()], ["setting", "What was run", setting()]]
    .filter(part => part[2]);
  document.getElementById("report").replaceChildren(head(), navigation(parts), ...parts.map(part => part[2]));
}

build();
