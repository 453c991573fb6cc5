#!/usr/bin/env python3
"""Checks the page of `onnxkit inspect` without a browser.

    inspect_page.py --program build/release/bin/onnxkit

Of the models in testdata/models and of some made here: the page is sound, and its data are those of --format json, which fits its schema. Constants are
folded into their readers, element types have names, statistics are those of the elements, the scopes are those of the names, and folding some makes
no cycle. Where node is installed, the scripts of the page also lay the graphs out: boxes do not overlap, edges go down and cross no box.
"""
import argparse
import array
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import jsonschema

import soundness

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from suite import Suite  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'
# The scripts of the page that need no page, on its data: what is drawn with all folded, all open, and as at the start.
LAYOUT = """
const answers = data.graphs.map((graph, g) => {
  const fold = foldingOf(graph, data.folding[g]);
  return [new Set(), new Set(fold.scopes.keys()), openAtStart(fold)].map(open => {
    const made = drawn(fold, open);
    made.boxes.forEach((box, i) => { box.width = 60 + i * 37 % 90; box.height = 26 + i * 17 % 60; });
    const laid = layOut(made.boxes, made.edges);
    return {boxes: made.boxes.map(box => [box.kind, box.index, box.x, box.y, box.width, box.height, box.layer]), edges: made.edges.map((edge, e) => [edge[0], edge[1], laid.bends[e]]),
            width: laid.width, height: laid.height, bounds: laid.tops.map((top, l) => [top, top + laid.heights[l]])};
  });
});
console.log(JSON.stringify(answers));
"""


def chain(blocks, name, between=""):
    """Blocks of three nodes and two constants; `name` gives the scope of block i."""
    lines = [HEAD + "net (float[4, 4] x) => (float[4, 4] y)\n<float[4, 4] w = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}> {"]
    last = "x"
    for i in range(blocks):
        lines.append(f'  ["{name(i)}/Constant"] k{i} = Constant <value_int = {i}> ()')
        lines.append(f'  ["{name(i)}/Cast"] f{i} = Cast <to = 1> (k{i})')
        lines.append(f'  ["{name(i)}/fc/MatMul"] m{i} = MatMul ({last}, w)')
        lines.append(f'  ["{name(i)}/Add"] a{i} = Add (m{i}, f{i})')
        last = f"a{i}"
        if between:
            lines.append(f'  ["{between}/Relu_{i}"] r{i} = Relu ({last})')
            last = f"r{i}"
    return "\n".join(lines + [f"  y = Identity ({last})", "}"])


def models(folder):
    """Models made here, by name."""
    (folder / "blocks.onnxtxt").write_text(chain(200, lambda i: f"/net/layers.{i}"))
    # Every other node lies in one scope: folded, it would be before and behind each block.
    (folder / "interleaved.onnxtxt").write_text(chain(90, lambda i: f"/net/layers.{i}", "/net/shared"))
    (folder / "plain.onnxtxt").write_text(chain(90, lambda i: f"b{i}").replace("/", "_"))
    (folder / "constants.onnxtxt").write_text(HEAD + """net (float[3] x) => (float[3] y, float[2] kept)
<float[5] odd = {nan, inf, -1, 0, 3}, int8[20] few = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 7}> {
  kept = Constant <value_floats: floats = [1.5, 2.5]> ()
  unread = Constant <value_int = 3> ()
  texts = Constant <value_strings = ["a</script><!--", "b"]> ()
  far = Constant <value_ints: ints = [9223372036854775807]> ()
  c = Cast <to = 10> (x)
  r = RandomNormalLike <dtype = 1> (c)
  e = EyeLike <dtype = 16> (few)
  q = QuantizeLinear <output_dtype = 3> (x, odd)
  y = Add (x, r)
  s = Slice (few, far, far)
  t = StringConcat (texts, texts)
}""")
    return sorted(folder.glob("*.onnxtxt"))


def sampled_model(folder):
    """Weights too large to be read as a whole: 0, 1, 2 ... modulo 1024 outside the model file, and 1, 2, 1, 2 ... of four bits; one whose file is missing."""
    import onnx
    count = 5 << 20
    (folder / "w.bin").write_bytes((array.array("f", range(1024)) * (count // 1024)).tobytes())
    weight = onnx.TensorProto(name="w", data_type=1, dims=[count], data_location=onnx.TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="w.bin")
    packed = onnx.TensorProto(name="packed", data_type=onnx.TensorProto.INT4, dims=[2 * count], raw_data=b"\x21" * count)
    missing = onnx.TensorProto(name="missing", data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    missing.external_data.add(key="location", value="absent.bin")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["w"], ["y"])], "net", [],
                                   [onnx.helper.make_tensor_value_info("y", 1, [count])], [weight, packed, missing])
    path = folder / "sampled.onnx"
    path.write_bytes(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]).SerializeToString())
    return path


def run(program, *arguments):
    done = subprocess.run([program, "inspect", *arguments], capture_output=True, cwd=ROOT)
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def page_of(program, path, *arguments):
    """The JSON of a model, the data of its page, and the page's faults."""
    report = json.loads(run(program, path, "--format", "json"))
    held, _, faults = soundness.opened(run(program, path, "--format", "html", *arguments))
    return report, held, faults


def faults_of_data(report, held):
    shown = {key: value for key, value in held.items() if key not in ("folding", "marks")}
    if shown != report:
        yield f"page and JSON differ in {[key for key in report if shown.get(key) != report[key]]}"
    if len(held["folding"]) != len(report["graphs"]):
        yield "not every graph has its folding"
    for graph in report["graphs"]:
        for tensor in graph["tensors"] + [node["constant"] for node in graph["nodes"] if "constant" in node]:
            yield from faults_of_tensor(tensor)


def faults_of_tensor(tensor):
    found, name = tensor.get("statistics"), tensor["name"]
    if len(tensor["values"]) > 64:
        yield f"{name!r} shows {len(tensor['values'])} values"
    if not found:
        return
    if len(found["histogram"]) > 32 or found["sampled"] > tensor["elements"]:
        yield f"{name!r} has a histogram of {len(found['histogram'])} bins and {found['sampled']} elements"
    finite = found["sampled"] - found["nan"] - found["infinite"]
    if found["histogram"] and sum(found["histogram"]) != finite:
        yield f"the histogram of {name!r} does not hold its finite elements"
    if finite and not found["minimum"] <= found["mean"] <= found["maximum"]:
        yield f"the mean of {name!r} is not between its ends"
    if len(tensor["values"]) == tensor["elements"] == found["sampled"] and not tensor["type"].startswith("bool"):
        numbers = [x for x in map(float, tensor["values"]) if x - x == 0]
        if numbers and not all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-40) for a, b in zip((min(numbers), max(numbers)), (found["minimum"], found["maximum"]))):
            yield f"the ends of {name!r} are not those of its values"


def arrows_of(graph, hidden):
    """Pairs of nodes, from maker to reader, constants left out."""
    source = {}
    for n, node in enumerate(graph["nodes"]):
        if n not in hidden:
            for output in node["outputs"]:
                source.setdefault(output, n)
    source.pop("", None)
    return [(source[name], n) for n, node in enumerate(graph["nodes"]) for name in node["inputs"] + node["captures"] if name in source and source[name] != n]


def is_acyclic(pairs):
    leaving, waiting = {}, {}
    for a, b in set(pairs):
        leaving.setdefault(a, []).append(b)
        waiting[b] = waiting.get(b, 0) + 1
        waiting.setdefault(a, 0)
    ready, seen = [box for box, n in waiting.items() if n == 0], 0
    while ready:
        seen += 1
        for box in leaving.get(ready.pop(), []):
            waiting[box] -= 1
            if waiting[box] == 0:
                ready.append(box)
    return seen == len(waiting)


def folded_pairs(arrows, folding, closed):
    """The arrows between boxes when these scopes are folded, and all others open."""
    def box(node):
        found, scope = ("node", node), folding["scope_of"][node]
        while scope is not None:
            if scope in closed:
                found = ("scope", scope)
            scope = folding["scopes"][scope][1]
        return found
    return [(a, b) for a, b in ((box(a), box(b)) for a, b in arrows) if a != b]


def faults_of_folding(graph, folding, rng):
    path, nodes, scopes = graph["path"], graph["nodes"], folding["scopes"]
    read = {name for node in nodes for name in node["inputs"] + node["captures"]}
    given = {output["name"] for output in graph["outputs"]}
    constants = [n for n, node in enumerate(nodes) if node["op"] == "Constant" and "constant" in node and node["outputs"][0] in read - given]
    if folding["constants"] != constants:
        yield f"{path}: the folded constants are not those that are read and no output"
    for n, scope in enumerate(folding["scope_of"]):
        labels = []
        while scope is not None:
            label, parent, repeats = scopes[scope]
            labels = labels if repeats else [label] + labels
            scope = parent
        name = "/".join(part for part in nodes[n]["name"].split("/") if part)
        if labels and not name.startswith("/".join(labels) + "/"):
            yield f"{path}: {nodes[n]['name']!r} is in the scope {'/'.join(labels)!r}"
        if labels and n in constants:
            yield f"{path}: the constant {n} has a box of its own"
    for s, (label, parent, repeats) in enumerate(scopes):
        members = sum(scope[1] == s for scope in scopes)
        if repeats and members < 2:
            yield f"{path}: {label!r} repeats {members} scopes"
        if parent is not None and parent >= s:
            yield f"{path}: {label!r} stands before the scope around it"
    arrows = arrows_of(graph, set(constants))
    choices = [set(), set(range(len(scopes)))] + [{s for s in range(len(scopes)) if rng.random() < .4} for _ in range(4)]
    if is_acyclic(arrows) and not all(is_acyclic(folded_pairs(arrows, folding, closed)) for closed in choices):
        yield f"{path}: folding makes a cycle"


def faults_of_drawing(drawing):
    boxes, layers = drawing["boxes"], {}
    for kind, index, x, y, width, height, layer in boxes:
        layers.setdefault(layer, []).append((x - width / 2, x + width / 2))
        if x - width / 2 < -.5 or x + width / 2 > drawing["width"] + .5 or y + height / 2 > drawing["height"] + .5:
            yield f"the box of {kind} {index} lies outside the drawing"
    for layer, spans in layers.items():
        spans.sort()
        if any(a[1] > b[0] for a, b in zip(spans, spans[1:])):
            yield f"boxes of layer {layer} overlap"
    tops = {bounds[0]: layer for layer, bounds in enumerate(drawing["bounds"])}
    for a, b, bends in drawing["edges"]:
        if boxes[a][6] >= boxes[b][6]:
            yield f"the edge from {boxes[a][:2]} to {boxes[b][:2]} does not go down"
        for x, top, _ in bends:
            if any(left < x < right for left, right in layers.get(tops[top], [])):
                yield f"the edge from {boxes[a][:2]} to {boxes[b][:2]} crosses a box"


def drawings_of(node, held):
    assets = ROOT / "tools/report/assets"
    script = "\"use strict\";\n" + "".join((assets / name).read_text() for name in ("inspect_layout.js", "inspect_folding.js"))
    run = subprocess.run([node, "-"], input=f"{script}\nconst data = {json.dumps(held)};\n{LAYOUT}", capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else run.stderr


def check_model(suite, program, schema, node, path, rng):
    report, held, faults = page_of(program, path)
    name = path.name
    faults += [f"{fault.json_path}: {fault.message[:200]}" for fault in schema.iter_errors(report)]
    faults += faults_of_data(report, held)
    for graph, folding in zip(report["graphs"], held["folding"]):
        faults += faults_of_folding(graph, folding, rng)
    suite.check(f"{name}: data", "; ".join(faults[:5]))
    if node:
        found = drawings_of(node, held)
        faults = [found] if isinstance(found, str) else [fault for graph in found for drawing in graph for fault in faults_of_drawing(drawing)]
        suite.check(f"{name}: layout", "; ".join(faults[:5]))
    return held


def check_constants(suite, held):
    nodes = held["graphs"][0]["nodes"]
    attributes = [text for node in nodes for text in node["attributes"]]
    wanted = {"to = FLOAT16", "dtype = FLOAT", "dtype = BFLOAT16", "output_dtype = INT8"}
    suite.check("element types have names", ", ".join(wanted - set(attributes)))
    values = {node["outputs"][0]: node["constant"]["values"] for node in nodes if "constant" in node}
    suite.check("constants show their values", "" if values == {"kept": ["1.5", "2.5"], "unread": ["3"], "texts": ['"a</script><!--"', '"b"'], "far": ["9223372036854775807"]} else str(values))
    suite.check("constants without readers, and outputs, have boxes", "" if [nodes[n]["outputs"][0] for n in held["folding"][0]["constants"]] == ["texts", "far"] else "others")
    odd, few = held["graphs"][0]["tensors"]
    found = {key: odd["statistics"][key] for key in ("nan", "infinite", "zeros", "minimum", "maximum", "sampled")}
    suite.check("statistics leave out what is not finite", "" if found == {"nan": 1, "infinite": 1, "zeros": 1, "minimum": -1, "maximum": 3, "sampled": 5} else str(found))
    suite.check("few integers have a bin each", "" if few["statistics"]["histogram"] == [7, 6, 6, 0, 0, 0, 1] and few["values"] == ["1", "2", "3"] * 5 + ["1"] else str(few))


def check_scopes(suite, folded, interleaved, plain):
    scopes = folded["folding"][0]["scopes"]
    suite.check("200 equal blocks are one box", "" if ["layers.0 … 199", 1] in [[label, repeats] for label, _, repeats in scopes] or ["net/layers.0 … 199", 1] in [[label, repeats] for label, _, repeats in scopes] else str(scopes[:4]))
    labels = {label for label, _, _ in interleaved["folding"][0]["scopes"]}
    suite.check("a scope that would make a cycle stays open", "it is folded" if any("shared" in label for label in labels) else "")
    suite.check("names without slashes make no scopes", str(plain["folding"][0]["scopes"][:3]) if plain["folding"][0]["scopes"] else "")


def check_sample(suite, held):
    weight, packed, missing = held["graphs"][0]["tensors"]
    found, of_packed = weight["statistics"], packed["statistics"]
    suite.check("a large weight is sampled", "" if found["sampled"] < weight["elements"] == 5 << 20 and found["minimum"] == 0 and found["maximum"] == 1023 and abs(found["mean"] - 511.5) < 5 else str(found))
    suite.check("a large weight of four bits is sampled", "" if of_packed["sampled"] < packed["elements"] and of_packed["histogram"] == [of_packed["sampled"] // 2] * 2 and of_packed["mean"] == 1.5 else str(of_packed))
    suite.check("a weight without data says why", "" if missing["unread"] and not missing["values"] and "statistics" not in missing else str(missing))


def check_report(suite, program, folder):
    path = folder / "bad.onnxtxt"
    path.write_text(HEAD + 'net (float[2, 3] x) => (float[2, 3] y) {\n  ["a/b"] a = Relu <wrong = 3> (x)\n  ["a/c"] y = Flatten <axis = 9> (a)\n}')
    report = folder / "check.json"
    report.write_bytes(subprocess.run([program, "check", path, "--format", "json"], capture_output=True).stdout)
    _, held, faults = page_of(program, path, "--with-report", report)
    findings = json.loads(report.read_text())["files"][0]["findings"]
    shown = [row["said"] for row in held["marks"]["findings"]] + [row["said"] for row in held["marks"]["unmatched"]]
    faults += [] if sorted(map(json.dumps, shown)) == sorted(map(json.dumps, findings)) else ["the page has other findings than the report"]
    faults += [f"{row['said']['place']} is shown at node {row['node']}" for row in held["marks"]["findings"] if row["node"] != row["said"]["place"]["node"]]
    suite.check("findings of check are on their nodes", "; ".join(faults))
    right, wrong = folder / "right.onnxtxt", folder / "wrong.onnxtxt"
    right.write_text(HEAD + "net (float[2, 3] x) => (float[2, 3] y)\n<float[3] w = {1, 2, 3}> {\n  a = Mul (x, w)\n  b = Sigmoid (a)\n  y = Relu (b)\n}")
    wrong.write_text(right.read_text().replace("Sigmoid", "Tanh"))
    layers = folder / "layers.json"
    layers.write_bytes(subprocess.run([program, "diff", "-b", "reference", "--layers", "--format", "json", right, wrong], capture_output=True).stdout)
    _, held, faults = page_of(program, right, "--with-report", layers)
    compared = [layer for side in json.loads(layers.read_text())["sides"] for layer in side["layers"]]
    faults += [] if compared and len(compared) == len(held["marks"]["deviations"]) else [f"{len(compared)} values were compared, {len(held['marks']['deviations'])} are shown"]
    for layer, row in zip(compared, held["marks"]["deviations"]):
        faults += [f"{key} of {layer['value']!r} differs" for key in row["said"] if row["said"][key] != layer[key]]
        faults += [f"{layer['value']!r} is at node {row['node']}"] if row["node"] != layer["place"]["node"] else []
    suite.check("deviations of diff are on their nodes", "; ".join(faults))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    program, suite, rng = options.program.resolve(), Suite(options.verbose), random.Random(1)
    described = json.loads((ROOT / "docs/json/inspect.schema.json").read_text())
    schema = jsonschema.validators.validator_for(described)(described)
    node = shutil.which("node") or shutil.which("nodejs")
    with tempfile.TemporaryDirectory(prefix="onnxkit-inspect-") as name:
        folder = pathlib.Path(name)
        paths = models(folder) + [sampled_model(folder)] + sorted((ROOT / "testdata/models").rglob("*.onnx"))
        held = {path.name: check_model(suite, program, schema, node, path, rng) for path in paths}
        check_constants(suite, held["constants.onnxtxt"])
        check_scopes(suite, held["blocks.onnxtxt"], held["interleaved.onnxtxt"], held["plain.onnxtxt"])
        check_sample(suite, held["sampled.onnx"])
        check_report(suite, program, folder)
        if not node:
            suite.skip(len(paths), "the layout of the page needs node")
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
