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
