// Elements of the panels.

function bytes(number) {
  if (typeof number !== "number") return number ?? "unknown";
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit < 4) { number /= 1024; ++unit; }
  return unit ? `${number.toFixed(1)} ${units[unit]}` : plural(number, "byte");
}
const quantity = value => typeof value === "number" ? count(value) : value ?? "unknown";
const plural = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;

/// Text that breaks behind / . _ : and commas rather than inside words.
function breakable(text) {
  const parts = document.createDocumentFragment();
  String(text).split(/(?<=[/._:,])(?=[^\s\d])/).forEach((part, i) => { if (i) parts.append(document.createElement("wbr")); parts.append(part); });
  return parts;
}

function element(tag, content, className) {
  const made = document.createElement(tag);
  if (content !== undefined) made.append(content instanceof Node ? content : breakable(content));
  if (className) made.className = className;
  return made;
}

function link(content, act, className = "") {
  const made = element("button", content, `link ${className}`);
  made.type = "button";
  made.onclick = act;
  return made;
}

function section(panel, title, rows) {
  if (!rows.length) return;
  panel.append(element("h3", title), ...rows);
}

function facts(rows) {
  const list = element("dl");
  for (const [name, value] of rows) if (value !== null && value !== undefined && value !== "") list.append(element("dt", name), element("dd", value));
  return list;
}

const shapeText = shape => shape.join("×");
const tensorTitle = tensor => `${tensor.sparse ? "sparse " : ""}${tensor.type}[${tensor.shape.join(", ")}]`;
/// All of a small scalar or vector, "[1, 2]" or "2"; empty when there are more values than are held, and for higher ranks.
function wholeValue(tensor) {
  if (tensor.sparse || tensor.shape.length > 1 || tensor.values.length !== tensor.elements) return "";
  return tensor.shape.length ? `[${tensor.values.join(", ")}]` : tensor.values[0] ?? "[]";
}

/// A histogram: the bars are as high as the square roots of the counts, so that small ones can be seen.
function histogram(found, type) {
  const bins = found.histogram, most = Math.sqrt(Math.max(...bins)), width = (found.maximum - found.minimum) / bins.length;
  const plot = element("div", undefined, "plot"), ends = element("div", undefined, "ends");
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `histogram of ${plural(bins.length, "bin")}`);
  const byNumber = !/float|double/.test(type) && bins.length === found.maximum - found.minimum + 1;
  bins.forEach((amount, i) => {
    const bar = element("span"), from = found.minimum + width * i;
    bar.style.height = `${Math.sqrt(amount) / most * 100}%`;
    bar.title = `${byNumber ? short(found.minimum + i, 6) : `${short(from, 4)} to ${short(from + width, 4)}`}: ${count(amount)}`;
    plot.append(bar);
  });
  ends.append(element("span", short(found.minimum, 5)), element("span", "count, square root scale"), element("span", short(found.maximum, 5)));
  return [plot, ends];
}

function tensorPanel(tensor) {
  const panel = element("div", undefined, "tensor"), found = tensor.statistics;
  panel.append(element("p", `${tensorTitle(tensor)}, ${tensor.sparse ? plural(tensor.elements, "stored element") : plural(tensor.elements, "element")}, ${bytes(tensor.bytes)}${tensor.external ? ", outside the model file" : ""}`));
  if (tensor.unread) panel.append(element("p", `not read: ${tensor.unread}`));
  if (found && tensor.elements) {
    panel.append(facts([["minimum", short(found.minimum, 6)], ["maximum", short(found.maximum, 6)], ["mean", short(found.mean, 6)],
      ["zeros", count(found.zeros)], ["NaN", count(found.nan)], ["infinite", count(found.infinite)]]));
    if (found.histogram.length) panel.append(...histogram(found, tensor.type));
    if (found.sampled < tensor.elements) panel.append(element("p", `These figures are of a sample of ${plural(found.sampled, "element")}.`, "soft"));
  }
  if (tensor.values.length) {
    const all = tensor.values.length === tensor.elements;
    panel.append(element("p", all ? "values" : `first ${tensor.values.length} values`, "soft"), element("div", tensor.values.join(", ") + (all ? "" : ", …"), "values"));
  }
  return panel;
}

function findingRow(finding, report) {
  const row = element("div", undefined, `finding ${finding.severity}`), place = finding.place || {};
  const head = element("div");
  head.append(element("b", `${finding.severity}[${finding.code}]`), " ", breakable(finding.message));
  row.append(head);
  const said = [["in", place.item ? place.item + (place.item_name ? ` “${place.item_name}”` : "") : ""], ["expected", finding.expected], ["found", finding.found], ["help", finding.help], ["report", report.file]];
  row.append(facts(said));
  for (const note of Array.isArray(finding.notes) ? finding.notes : []) row.append(element("p", note));
  return row;
}

function deviationRow(layer, report) {
  const row = element("div", undefined, `finding ${layer.guilty ? "error" : "info"}`);
  const head = element("div");
  head.append(element("b", layer.verdict), ` ${layer.guilty ? "(its own deviation is more than rounding) " : ""}in `, element("span", layer.value, "name"));
  const floor = part => part ? `${short(part.rms)} σ rms, ${short(part.largest)} σ at most, of ${part.profile} rounding` : null;
  row.append(head, facts([["total", floor(layer.total)], ["own", floor(layer.own)], ["inherited", floor(layer.inherited)],
    ["largest difference", short(layer.max_absolute)], ["of the range", short(layer.range_relative)], ["cosine", short(layer.cosine, 9)], ["side", report.title.replace("diff --layers: ", "")], ["report", report.file]]));
  return row;
}
