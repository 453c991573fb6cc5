#!/usr/bin/env python3
"""How much of a model's values each shape inference knows, and whether it is right.

    inference.py build/official [DIR ...] [--program build/bin/onnxkit] [--show PEER] [--write]

Every DIR is searched for model.onnx with test_data_set_* beside it. The models are stripped of every recorded shape but those of
their inputs, whose open dimensions get names; then each peer infers, and

* a value is *known* when it has a type and each dimension is a number or an expression over the names of the inputs;
* it is *wrong* when a run, on the recorded inputs or on larger ones, makes another type, rank or size (an invented name must keep one
  size through a run);
* an output is *exact* when it has the type, rank and every fixed size that the model declared before it was stripped.

--show PEER lists what that peer leaves open or gets wrong; --write renews docs/results/inference.md.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import dims  # noqa: E402
import forked  # noqa: E402
import onnx  # noqa: E402
import onnx.shape_inference  # noqa: E402
import onnxruntime  # noqa: E402
import results  # noqa: E402
import values  # noqa: E402
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference  # noqa: E402

SECONDS = 300
NOTES = """What onnxkit leaves open depends on data or is made by operators without a schema. Like symbolic_shape_infer it takes the default of an
input for constant here (docs/infer.md). Outputs that are not exact have sizes that an input's content decides;
in models/strings these are the two values that nobody knows.
"""
CACHE = HERE.parents[1] / "build/oracle/inference"


def infer_by_onnx(model):
    return onnx.shape_inference.infer_shapes(model, data_prop=True, strict_mode=False)


def infer_by_onnxruntime(model):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # it leaves files behind when it fails; this process is our own
        return SymbolicShapeInference.infer_shapes(model, auto_merge=True)


def infer_by(program):
    def infer(model):
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "in.onnx", pathlib.Path(folder) / "out.onnx"
            source.write_bytes(model.SerializeToString())
            subprocess.run([program, "infer", source, "-o", target], check=False)
            return onnx.load(target)
    return infer


def in_child(work):
    """The JSON value of work(), computed in a process of its own; None when it fails, dies or takes too long."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        forked.silent()
        signal.alarm(SECONDS)
        try:
            text = json.dumps(work())
            with os.fdopen(writer, "w") as stream:
                stream.write(text)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    try:
        return json.loads(text)
    except ValueError:
        return None


def cached(kind, key, work):
    path = CACHE / kind / f"{key}.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(in_child(work)))
    return json.loads(path.read_text())


def known(found, inputs):
    if found is None:
        return False
    kind, element, sizes = found
    if kind != "tensor_type":
        return kind is not None
    return element != 0 and sizes is not None and all(size is not None and (isinstance(size, int) or dims.names(size) <= inputs) for size in sizes)


def input_sizes(declared, run):
    """{name: size} from the inputs of a run."""
    bound = {}
    for name, (_, shape) in run["inputs"].items():
        for size, real in zip((declared.get(name) or [None, 0, None])[2] or [], shape):
            if isinstance(size, str):
                bound.setdefault(size, real)
    return bound


def contradicts(found, real, bound):
    """Why `found` cannot be right for a value that a run made as `real`; empty when it can."""
    kind, element, sizes = found
    if kind != "tensor_type":
        return f"{kind} for a tensor"
    if element and real[0] and element != real[0]:
        return f"type {element} for {real[0]}"
    if sizes is None:
        return ""
    if len(sizes) != len(real[1]):
        return f"rank {len(sizes)} for {len(real[1])}"
    for size, measured in zip(sizes, real[1]):
        if size is None:
            continue
        if isinstance(size, str) and size not in bound and dims.names(size) == {size}:
            bound[size] = measured  # an invented name: it must keep this size everywhere
            continue
        try:
            expected = size if isinstance(size, int) else dims.evaluate(size, bound)
        except dims.Unreadable:
            continue
        if expected != measured:
            return f"{size} = {expected} for {measured}"
    return ""


def exact(found, declared):
    if found is None or found[0] != declared[0] or found[1] != declared[1]:
        return False
    if declared[2] is None:
        return True
    return found[2] is not None and len(found[2]) == len(declared[2]) and all(
        not isinstance(want, int) or have == want for have, want in zip(found[2], declared[2]))


class Score:
    def __init__(self):
        self.values = self.known = self.wrong = self.outputs = self.exact = 0
        self.open_names, self.faults, self.inexact = [], [], []

    def add(self, name, model, stripped, found, runs):
        inputs = {size for info in stripped.graph.input for size in values.described(info.type)[2] or [] if isinstance(size, str)}
        declared = values.recorded(stripped)
        bounds = [input_sizes(declared, run) for run in runs]
        for value in dict.fromkeys(values.made_by_nodes(stripped)):
            self.values += 1
            here = found.get(value)
            if known(here, inputs):
                self.known += 1
            else:
                self.open_names.append(f"{name}: {value}: {here}")
            whys = [why for run, bound in zip(runs, bounds) if here and value in run["values"] and (why := contradicts(here, run["values"][value], bound))]
            if whys:
                self.wrong += 1
                self.faults.append(f"{name}: {value}: {whys[0]}")
        for output in model.graph.output:
            self.outputs += 1
            if exact(found.get(output.name), values.described(output.type)):
                self.exact += 1
            else:
                self.inexact.append(f"{name}: {output.name}: {found.get(output.name)} for {values.described(output.type)}")


def measure(paths, peers):
    scores = {peer: collections.defaultdict(Score) for peer in peers}
    judged = collections.Counter()
    for done, (group, name, path) in enumerate(paths):
        model = onnx.load(path)
        key = hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()[:24] + "-" + path.parent.name
        stripped = values.prepared(model)
        runs = cached("runs", key, lambda: [run for folder in sorted(path.parent.glob("test_data_set_*")) for run in values.actual(model, folder)]) or []
        judged.update(run["by"] for run in runs[:1])
        for peer, infer in peers.items():
            work = lambda: values.recorded(infer(stripped))
            found = in_child(work) if peer == "onnxkit" else cached(peer.replace(" ", "_"), key, work)
            scores[peer][group].add(name, model, stripped, found or {}, runs)
        if sys.stderr.isatty():
            print(f"\r{done + 1}/{len(paths)}", end="", file=sys.stderr)
    return scores, judged


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def summed(groups):
    total = Score()
    for score in groups.values():
        for field in ("values", "known", "wrong", "outputs", "exact"):
            setattr(total, field, getattr(total, field) + getattr(score, field))
    return total


def report(scores):
    peers = list(scores)
    rows = []
    groups = {group: [scores[peer][group] for peer in peers] for group in scores[peers[0]]}
    groups["**all**"] = [summed(scores[peer]) for peer in peers]
    for group, column in groups.items():
        cells = [f"{share(s.known, s.values)}, {s.wrong} wrong, {share(s.exact, s.outputs)}" for s in column]
        rows.append([group, column[0].values, column[0].outputs, *cells])
    return results.table(["models", "values", "outputs"] + [f"{peer}: known, wrong, outputs exact" for peer in peers], rows)


def models_under(folder):
    for path in sorted(folder.rglob("model.onnx")):
        name = path.parent.relative_to(folder)
        if name.parts[0] != "invalid":
            yield f"{folder.name}/{name.parts[0]}", str(name), path


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folders", nargs="+", type=pathlib.Path)
    options.add_argument("--program", type=pathlib.Path, help="the onnxkit program")
    options.add_argument("--show", metavar="PEER", help="list what this peer leaves open or gets wrong")
    options.add_argument("--write", action="store_true", help="renew docs/results/inference.md")
    args = options.parse_args()

    peers = {
        f"onnx.shape_inference {onnx.__version__}": infer_by_onnx,
        f"symbolic_shape_infer {onnxruntime.__version__}": infer_by_onnxruntime,
    }
    if args.program:
        peers["onnxkit"] = infer_by(args.program.resolve())
    paths = [found for folder in args.folders for found in models_under(folder.resolve())]
    scores, judged = measure(paths, peers)
    text = report(scores) + "\nSizes are held against runs by " + ", ".join(f"{by} ({count} models)" for by, count in judged.most_common()) + ".\n"
    print(text)
    for peer, groups in scores.items():
        if args.show and peer.startswith(args.show):
            for kind in ("faults", "inexact", "open_names"):
                print(f"{peer}: {kind}", *[line for score in groups.values() for line in getattr(score, kind)], sep="\n  ")
    if args.write:
        results.write_page("inference", "Inference", f"Known types and shapes of {len(paths)} models (`tests/oracle/inference.py`).\n\n{text}\n{NOTES}")


if __name__ == "__main__":
    main()
