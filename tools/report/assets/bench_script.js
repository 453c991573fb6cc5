// The page, built from the data. Whatever comes from there becomes text nodes, never markup.
const data = JSON.parse(document.getElementById("data").textContent);
const benchmarks = data.benchmarks;
const ran = side => !side.failure && side.wall && side.wall.runs > 0;
const labels = [...new Set(benchmarks.flatMap(one => one.sides.map(side => side.label)))];
const spread = latency => latency.median_interval && latency.median > 0 ? ` ± ${(50 * (latency.median_interval[1] - latency.median_interval[0]) / latency.median).toFixed(1)} %` : "";
const ratioText = ratio => !ratio ? "–" : `${ratio.differs ? amount(ratio.value) + " ×" : "no clear difference"} (${amount(ratio.interval[0])} to ${amount(ratio.interval[1])})`;
const settingText = one => (one.batch !== null ? `, batch ${count(one.batch)}` : "") + (one.threads !== null ? `, ${counted(one.threads, "thread")}` : "");
const shortNames = shortPaths(benchmarks.map(one => one.model));
const nameOf = one => el("span", fileOf(one.model, shortNames.get(one.model)), settingText(one));
const shownName = one => visible(shortNames.get(one.model)) + settingText(one);

// ---- head

function title() {
  const models = new Set(benchmarks.map(one => one.model)).size;
  const failed = benchmarks.flatMap(one => one.sides).filter(side => side.failure).length, missing = benchmarks.filter(one => one.failure);
  const stopped = missing.filter(one => one.cancelled).length, unmeasured = missing.length - stopped;
  return `${counted(models, "model")} on ${counted(labels.length, "backend")}` + (benchmarks.length > models ? `, ${counted(benchmarks.length, "measurement")}` : "") +
    (failed ? `; ${counted(failed, "side")} failed` : "") + (unmeasured ? `; ${counted(unmeasured, "measurement")} failed` : "") +
    (stopped ? `; ${counted(stopped, "measurement")} not made` : "");
}

// The arithmetic by which the outputs are explained, where that is coarser than float32.
const coarse = side => side.rounding && side.rounding !== "float32" ? side.rounding : "";

function head() {
  document.title = "onnxkit bench: " + title();
  const machine = (benchmarks.find(one => !one.failure) || benchmarks[0])?.machine;
  const top = el("header", el("div.eyebrow", "onnxkit bench"), el("h1", title()));
  if (machine) top.append(el("p.soft", given(machine.processor || "unknown processor"), `, ${counted(machine.processors, "processor")}, ${short(machine.memory_bytes / 2 ** 30)} GiB`));
  if (benchmarks.length !== 1) return top;
  const sentences = el("ul.sentences");
  benchmarks[0].sides.forEach(side => {
    const kind = side.failure ? "bad" : side.verdict ? kindOf(side.verdict) : "unsure";
    const what = side.failure ? `failed at ${visible(side.failure.at)}` : !ran(side) ? "was not measured" :
      `${seconds(side.wall.median)}${spread(side.wall)}` + (side.ratio ? `, ${ratioText(side.ratio)}` : "") + (side.verdict ? `, outputs: ${side.verdict}` + (coarse(side) ? ` (${coarse(side)})` : "") : ", outputs not judged");
    sentences.append(el("li." + kind, el("span.who", given(side.label)), el("span.what", what)));
  });
  top.append(sentences);
  return top;
}

// ---- over all measurements

function summary() {
  if (benchmarks.length < 2) return null;
  const rows = benchmarks.map(one => [nameOf(one), ...labels.map(label => {
    const side = one.sides.find(candidate => candidate.label === label);
    if (!side) return one.failure && !one.cancelled ? el("span.failed", "✕ failed") : "–";
    if (!ran(side)) return el("span.failed", side.failure ? "✕ failed" : "–");
    return el("span.whole", seconds(side.wall.median), kindOf(side.verdict) === "bad" ? el("span.failed", " ✕") : "");
  }), (one.fastest || []).length ? given(one.fastest.join(", ")) : "–"]);
  return named("section", {id: "summary"}, el("h2", "Medians"), table(["model", ...labels.map(label => given(label)), "fastest"], rows, "Median of every measurement", true));
}

/// What has changed since the report of --baseline.
function changes() {
  const comparison = data.comparison;
  if (!comparison) return null;
  const rows = comparison.changes.map(one => {
    const change = ratioText(one.ratio) + (one.too_slow ? ", too slow" : "") + (one.remark ? ", " + visible(one.remark) : "");
    return [el("span", fileOf(one.model), settingText(one), ...(one.label ? [", ", given(one.label)] : [])), known(one.before) ? seconds(one.before) : "–", known(one.after) ? seconds(one.after) : "–",
      one.too_slow || one.worse ? el("span.failed", "✕ " + change) : change];
  });
  const remarks = [...comparison.only_before.map(one => `not compared: ${one}, which only the older report has`), ...comparison.only_after.map(one => `not compared: ${one}, which only the newer report has`),
    ...[...comparison.differences, ...comparison.disturbances || []].map(one => "warning: " + one)];
  return named("section", {id: "changes"}, el("h2", "Since the earlier report"), table(["measurement", ">before", ">after", "change"], rows, "Since the earlier report", true), ...remarks.map(text => el("p.note", given(text))));
}

/// Groups of measurements that differ in nothing but the batch.
function batches() {
  const groups = new Map();
  benchmarks.filter(one => one.batch !== null).forEach(one => groups.set(one.model, [...groups.get(one.model) || [], one]));
  const panels = [...groups].map(([model, group]) => {
    const series = new Map();
    group.forEach(one => one.sides.filter(ran).forEach(side => {
      const name = side.label + (one.threads !== null ? `, ${counted(one.threads, "thread")}` : "");
      const [low, high] = side.wall.median_interval || [side.wall.median, side.wall.median];
      series.set(name, [...series.get(name) || [], [one.batch, side.wall.median, low, high]]);
    }));
    const drawn = [...series].map(([name, points]) => ({name, points: points.sort((a, b) => a[0] - b[0])})).filter(one => one.points.length > 1 && one.points.every(p => p[2] > 0));
    if (!drawn.length) return null;
    const words = `Latency of ${visible(model)} against batch: ${drawn.map(one => visible(one.name)).join(", ")}`;
    const sizes = [...new Set(drawn.flatMap(one => one.points.map(p => p[0])))].sort(d3.ascending);
    const rate = (one, size) => one.points.filter(p => p[0] === size).map(p => `${amount(p[0] / p[1])} /s`)[0] || "–";
    const rows = drawn.map(one => [given(one.name), ...sizes.map(size => rate(one, size))]);
    return el("div.panel", el("figure", caption("Latency against batch", "every median with its interval"), drawBatches(drawn, words), key(drawn.map(one => one.name))),
      el("p.soft", "Throughput, in rows of the batch:"), table(["series", ...sizes.map(size => `>batch ${count(size)}`)], rows, "Throughput by batch", true));
  }).filter(Boolean);
  return panels.length ? named("section", {id: "batches"}, el("h2", "Batches"), ...panels) : null;
}

function key(names) {
  return el("div.key", ...names.map((name, i) => {
    const sign = document.createElementNS("http://www.w3.org/2000/svg", "svg"), stroke = document.createElementNS("http://www.w3.org/2000/svg", "path");
    sign.setAttribute("viewBox", "0 0 22 12");
    sign.setAttribute("aria-hidden", "true");
    stroke.setAttribute("class", strokes[i % strokes.length]);
    stroke.setAttribute("d", "M1,6h20");
    stroke.setAttribute("stroke-width", 2);
    if (i >= strokes.length) stroke.setAttribute("stroke-dasharray", `${2 * Math.floor(i / strokes.length) + 2} 4`);
    sign.append(stroke);
    return el("span", sign, visible(name));
  }));
}

// ---- one measurement

/// At most so many samples, at evenly spaced ranks: those of a round are sorted where --samples did not ask for all, so places in their order would choose by rank.
function thinned(samples, most = 400) {
  if (samples.length <= most) return samples;
  const sorted = [...samples].sort(d3.ascending);
  return d3.range(most).map(i => sorted[Math.round(i * (sorted.length - 1) / (most - 1))]);
}
const samplesOf = (side, place) => (side.rounds || []).flatMap(round => round.map(run => run[place])).filter(v => v > 0);

function times(one) {
  const plots = one.sides.filter(ran).flatMap(side => [["wall", 0], ["cpu", 1]].map(([word, place]) => [`${visible(side.label)}, ${word}`, thinned(samplesOf(side, place)), place === 1])).filter(row => row[1].length);
  const megabytes = bytes => known(bytes) ? `${count(Math.round(bytes / 2 ** 20))} MiB` : "–";
  const timesDevice = one.sides.some(side => side.on_device), sizesDevice = one.sides.some(side => known(side.device_bytes));
  const rows = one.sides.map(side => ran(side) ? [given(side.label), seconds(side.wall.median) + spread(side.wall), seconds(side.wall.p90), seconds(side.wall.p99), side.cpu ? seconds(side.cpu.median) : "–",
    ...(timesDevice ? [side.on_device ? seconds(side.on_device.median) : "–"] : []), known(side.per_second) ? amount(side.per_second) : "–", seconds(side.first_seconds), seconds(side.load_seconds), count(side.warmups), count(side.wall.runs), known(side.grown_bytes) ? `+${megabytes(side.grown_bytes)}` : megabytes(side.peak_bytes), ...(sizesDevice ? [megabytes(side.device_bytes)] : []), ratioText(side.ratio), side.verdict ? chip(side.verdict, coarse(side)) : "not judged"]
    : [given(side.label), el("span.failed", side.failure ? `✕ failed at ${visible(side.failure.at)}` : "not measured")]);
  const words = "runs are points; the box holds the middle half, the bar is the median";
  return el("div.panel", plots.length ? el("figure", caption("Time of a run", words), drawTimes(plots, `Times of runs: ${one.sides.filter(ran).map(side => `${visible(side.label)} ${seconds(side.wall.median)}`).join(", ")} (medians of wall time)`)) : "",
    table(["side", ">median", ">p90", ">p99", ">cpu", ...(timesDevice ? [">on device"] : []), ">per second", ">first", ">load", ">warm-up", ">runs", ">memory", ...(sizesDevice ? [">device memory"] : []), "ratio", "outputs"], rows, "Times", true));
}

/// More than 100 % where data comes from caches: the peak is that of memory.
const reached = (floor, taken) => known(floor) && floor > 0 && taken > 0 ? `${count(Math.round(100 * floor / taken))} %` : "–";
const rate = (done, taken) => known(done) && done > 0 && taken > 0 ? amount(done / taken * 1e-9) : "–";
const share = (taken, total) => total > 0 ? `${(100 * taken / total).toFixed(1)} %` : "–";

function operatorsOf(profile) {
  const sums = new Map();
  profile.steps.forEach(step => {
    const sum = sums.get(step.op) || {op: step.op, seconds: 0, steps: 0, operations: 0, bytes: 0, floor: 0};
    sum.seconds += step.seconds;
    sum.steps += 1;
    ["operations", "bytes", "floor"].forEach(what => { sum[what] = known(step[what]) ? sum[what] + step[what] : NaN; });
    sums.set(step.op, sum);
  });
  return [...sums.values()].sort((a, b) => b.seconds - a.seconds);
}

function profilePanel(side) {
  if (side.unprofiled) return el("p.note", ...(side.unprofiled.startsWith(side.label) ? [] : [given(side.label), ": "]), given(side.unprofiled));
  const profile = side.profile;
  if (!profile || !profile.steps.length) return null;
  const operators = operatorsOf(profile), total = Math.max(profile.seconds, d3.sum(operators, one => one.seconds)), roof = profile.roof;
  const machine = roof ? `; ${counted(roof.threads, "thread")} ${roof.threads === 1 ? "reaches" : "reach"} ${amount(roof.operations_per_second * 1e-9)} GFLOP/s and ${amount(roof.bytes_per_second * 1e-9)} GB/s` : "";
  const summaryLine = el("summary", el("span.title", given(side.label)), el("span.fact", `a profiled run takes ${seconds(profile.seconds)}, ${counted(profile.steps.length, "step")}${machine}`));
  const panel = el("details", summaryLine);
  const times = side.wall && side.wall.median > 0 ? profile.seconds / side.wall.median : 0;
  const slowed = times > 1.5 ? `a profiled run takes ${times < 9.95 ? times.toFixed(1) : count(Math.round(times))} times as long as a measured one: the shares are those of profiled runs` : "";
  panel.fill = () => panel.childElementCount > 1 || panel.append(...(slowed ? [el("p.note", slowed)] : []), profileBody(profile, operators, total, roof));
  panel.addEventListener("toggle", () => panel.open && panel.fill());
  return panel;
}

function operatorsTable(operators, total) {
  const most = 30, inside = d3.sum(operators, one => one.seconds);
  const rows = operators.slice(0, most).map(one =>
    [given(one.op), seconds(one.seconds), share(one.seconds, total), count(one.steps), rate(one.operations, one.seconds), rate(one.bytes, one.seconds), reached(one.floor, one.seconds)]);
  const others = operators.slice(most), rest = d3.sum(others, one => one.seconds);
  if (others.length) rows.push(["others", seconds(rest), share(rest, total), count(d3.sum(others, one => one.steps)), "–", "–", "–"]);
  if (total > inside) rows.push(["between steps", seconds(total - inside), share(total - inside, total), "–", "–", "–", "–"]);
  return table(["operator", ">time", ">share", ">steps", ">GFLOP/s", ">GB/s", ">of the peak"], rows, "Time by operator", true);
}

function profileBody(profile, operators, total, roof) {
  const shown = operators.slice(0, 15).map(one => [visible(one.op), one.seconds, one.floor]);
  const body = el("div.body", el("div.pair"));
  const pair = body.firstChild;
  pair.append(el("figure", caption("Time by operator", roof ? "filled: what the machine needs at its peak" : "of one run"), drawOperators(shown, `Time by operator: ${shown.slice(0, 5).map(row => `${row[0]} ${seconds(row[1])}`).join(", ")}`)));
  const points = roof ? profile.steps.filter(step => step.operations > 0 && step.bytes > 0 && step.seconds > 0) : [];
  if (points.length) pair.append(el("figure", caption("Below the roof", "each step with products; its area grows with its time"), drawRoof(points, roof, `${counted(points.length, "step")} below the roof of the machine`)));
  body.append(el("h3", "Operators"), operatorsTable(operators, total));
  const won = step => step.seconds - (known(step.floor) ? step.floor : 0);
  const steps = profile.steps.filter(step => won(step) > 0).sort((a, b) => won(b) - won(a)).slice(0, 25);
  body.append(el("h3", "Steps in which most can be won"), !steps.length ? el("p.soft", "none") : table(["step", "operator", ">time", ">could be", ">GFLOP/s", ">GB/s", "nodes of the model"], steps.map(step =>
    [code(step.name), given(step.op), seconds(step.seconds), known(step.floor) && step.floor > 0 ? seconds(step.floor) : "–", rate(step.operations, step.seconds), rate(step.bytes, step.seconds),
      given(step.nodes.slice(0, 6).join(", ") + (step.nodes.length > 6 ? ` and ${step.nodes.length - 6} more` : ""))]), "Steps in which most can be won", true));
  return body;
}

function benchmarkPanel(one, i) {
  const made = named("section", {id: "bench" + i}, el("h2", nameOf(one)), el("p.soft", "inputs ", given(one.inputs), ...(one.input_types || []).flatMap((input, k) => [k ? ", " : ": ", given(`${input.name} ${input.type}`)]), `, measured for ${seconds(one.seconds)}`));
  if (one.failure) {
    const error = one.failure.error;
    made.append(el("div.note.bad", el("b", one.cancelled ? "Stopped: " : "Failed: "), given(error.message), el("div.soft", code(error.code)), ...(error.help ? [el("div", el("b", "Help: "), given(error.help))] : [])));
    return made;
  }
  const base = one.ratios_to, first = one.sides[0];
  if (base && base !== first.label) made.append(el("p.note", "Ratios are to ", given(base), ", since ", given(first.label), " was not measured."));
  const warn = text => made.append(el("p.note", el("b", "warning"), ": ", given(text)));
  one.sides.forEach(side => (side.warnings || []).forEach(text => warn(`${side.label}: ${text}`)));
  one.warnings.forEach(warn);
  if (!one.reached_goal) warn("the figures are less precise than asked for; a longer --max-time allows more rounds");
  if (one.cancelled) warn("the measurement was stopped early");
  one.sides.filter(side => side.failure).forEach(side => made.append(el("h3", given(side.label)), failurePanel(side)));
  one.sides.filter(side => side.why && !side.failure && !["identical", "rounding"].includes(side.verdict)).forEach(side => made.append(el("p.note", given(side.label), ": ", given(side.why))));
  one.sides.forEach(side => (side.notes || []).forEach(note => made.append(el("p.note", given(side.label), ": ", given(note)))));
  one.sides.filter(side => ran(side) && !side.stationary).forEach(side => made.append(el("p.note", given(side.label), `: warming up ended after ${counted(side.warmups, "run")}, before times were seen to settle`)));
  made.append(times(one));
  const profiles = one.sides.map(profilePanel).filter(Boolean);
  if (profiles.length) made.append(el("h3", "Where the time goes"), ...profiles);
  const open = profiles.find(panel => panel.fill);
  if (open && benchmarks.length === 1) {
    open.open = true;
    open.fill();
  }
  return made;
}

function setting() {
  const most = 200;
  const sides = benchmarks.flatMap(one => one.sides.map(side => [given(side.label), given(side.backend), given(side.version || "–"), given(side.device || "–"), given(side.arithmetic || "–"), fileOf(side.model || one.model),
    given(Object.entries(side.options).map(([name, value]) => `${name} = ${value}`).join(", ") || "–")]));
  const rows = sides.length > most ? [...sides.slice(0, most), [`and ${counted(sides.length - most, "other")}`]] : sides;
  return named("section", {id: "setting"}, el("h2", "What was run"), table(["side", "backend", "version", "devices", "arithmetic", "model", "options"], rows, "Sides", true), el("h3", "Glossary"), list([
    ["median", "of the medians of all rounds, with half its 95 % interval"], ["p90, p99", "so many of 100 runs took at most this long"], ["cpu", "CPU time of the whole process"], ["on device", "median time of the work on a GPU, without the copies of inputs and outputs"], ["per second", "runs by the median, with a batch what they hold along the first axis"], ["warm-up", "runs that were not measured"],
    ["first", "the first run after loading, when nothing is warm"], ["ratio", "how much longer than the first side, with its interval; no clear difference where the interval leaves open whether they differ"],
    ["fastest", "the sides with right outputs that are not clearly slower than the one with the lowest median"],
    ["GFLOP/s, GB/s", "multiplications and additions of the model, and bytes that a step cannot but read and write, for the time taken"],
    ["of the peak", "the time that the machine would need at the measured peak of its arithmetic or its memory, as a share of the time taken: more than 100 % where data comes from caches, which are faster than memory"]]));
}

function build() {
  const each = benchmarks.map((one, i) => ["bench" + i, shownName(one), benchmarkPanel(one, i)]);
  const parts = [["summary", "Medians", summary()], ["changes", "Since the earlier report", changes()], ["batches", "Batches", batches()], ...each, ["setting", "What was run", setting()]].filter(part => part[2]);
  document.getElementById("report").replaceChildren(head(), navigation(parts), ...parts.map(part => part[2]));
}

build();
