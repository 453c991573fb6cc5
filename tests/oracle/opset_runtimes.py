#!/usr/bin/env python3
"""Other runtimes on converted models: ONNX Runtime (graph optimisation off) and the onnx package's ReferenceEvaluator against the recorded outputs.

    opset_runtimes.py SAVED build/official [../shared/models ...] [--count 4000] [--seed 1] [--known FILE] [--list FILE]

SAVED is what `opset_matrix --save` wrote. The sample is even over operators (a model stands for its rarest), directions and distances. Tolerances are those of
the official runner, for exported models those of their manifest.json. For each runtime a pair is

* not run: the runtime has no such opset, operator or type, or takes more than 60 s;
* agreed;
* as before: other outputs than the recorded ones, from the model as it was, too;
* disagreed: other outputs, though the model as it was gives the recorded ones, or is not run. Each is printed.

--known: lines "RUNTIME<tab>OPERATOR<tab>FIRST..LAST opset<tab>cause" of what is known to be wrong in a runtime; disagreements of models with that operator at such
a target are counted apart. Exit status 1 when there is any other.
"""
import argparse
import collections
import functools
import json
import pathlib
import random
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import forked  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import opset_saved  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from recorded import read_value  # noqa: E402

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

SECONDS = 60


def by_onnxruntime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def by_reference(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


RUNTIMES = {f"ReferenceEvaluator {onnx.__version__}": by_reference}
if onnxruntime:
    RUNTIMES[f"ONNX Runtime {onnxruntime.__version__}"] = by_onnxruntime


def content(path, info):
    """A recorded value; of an optional its content."""
    kind = info.type.WhichOneof("value") if info is not None else "tensor_type"
    if kind != "optional_type":
        return read_value(path, info.type) if info is not None else numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
    inner = onnx.ValueInfoProto(type=info.type.optional_type.elem_type)
    optional = onnx.OptionalProto.FromString(path.read_bytes())
    return read_value(path, inner if optional.elem_type == 0 else info.type)


def feeds_of(model, folder):
    weights = {tensor.name for tensor in [*model.graph.initializer, *(sparse.values for sparse in model.graph.sparse_initializer)]}
    inputs = [info for info in model.graph.input if info.name not in weights]
    feeds, index = {}, 0
    while (path := folder / f"input_{index}.pb").is_file():
        info = inputs[index] if index < len(inputs) else None
        name = info.name if info is not None else onnx.TensorProto.FromString(path.read_bytes()).name
        feeds[name] = content(path, info)
        index += 1
    return feeds


@functools.lru_cache(maxsize=8)
def runs_of(path):
    """[(inputs, outputs)] of the model in `path`."""
    model = opset_saved.load_original(path)
    runs = []
    for folder in sorted(path.parent.glob("test_data_set_*")):
        files = [(folder / f"output_{i}.pb", info) for i, info in enumerate(model.graph.output)]
        corrections = HERE.parent / "official/corrections" / path.parent.parent.name / path.parent.name
        files = [(corrected if (corrected := corrections / file.name).is_file() else file, info) for file, info in files]
        runs.append((feeds_of(model, folder), [content(file, info) if file.is_file() else None for file, info in files]))
    return runs


@functools.cache
def manifest_of(folder):
    path = folder / "manifest.json"
    entries = json.loads(path.read_text())["models"] if path.is_file() else []
    return {f"{entry['folder']}/{entry.get('model')}": (entry["rtol"], entry["atol"]) for entry in entries}


def tolerance_of(pair, expected):
    own = manifest_of(pair.folder).get(pair.name)
    if own is not None:
        return own
    relative = 2e-3 if "densenet121" in pair.name else 2**-6 if str(getattr(expected, "dtype", "")) == "bfloat16" else 1e-3
    return relative, 1e-7


def difference(want, got, tolerance):
    """What differs; empty when nothing does."""
    if want is None:
        return ""
    if isinstance(want, (list, dict)) or isinstance(got, (list, dict)):
        if type(want) is not type(got) or len(want) != len(got):
            return f"{type(got).__name__} instead of {type(want).__name__}"
        keys = want.keys() if isinstance(want, dict) else range(len(want))
        if isinstance(want, dict) and want.keys() != got.keys():
            return "other keys"
        return next((why for key in keys if (why := difference(want[key], got[key], tolerance))), "")
    want, got = np.asarray(want), np.asarray(got)
    if want.shape != got.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if want.dtype.kind in "OUS" or want.dtype == bool or np.issubdtype(want.dtype, np.integer):
        return "" if (want.astype(got.dtype) == got).all() else "other values"
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    want, got = want.astype(kind), got.astype(kind)
    return "" if np.allclose(got, want, tolerance[0], tolerance[1], equal_nan=True) else f"differs by {np.nanmax(np.abs(got - want))}"


def judge(pair, run, model):
    """agreed, not run: why, or other: how."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for feeds, expected in runs_of(pair.original):
            try:
                outputs = run(model, feeds)
            except Exception as fault:  # runtimes raise types of their own
                return "not run: " + (str(fault) or type(fault).__name__)[:200]
            for index, (want, got) in enumerate(zip(expected, outputs)):
                if why := difference(want, got, tolerance_of(pair, want)):
                    return f"other: output {index}: {why}"
    return "agreed"


def judged(pair, run):
    found = judge(pair, run, pair.load())
    if not found.startswith("other"):
        return found
    before = judge(pair, run, opset_saved.load_original(pair.original))
    return ("as before" if before.startswith("other") else "disagreed, original " + before.partition(":")[0]) + found.removeprefix("other")


def operators_of(model):
    found, graphs = set(), [model.graph, *model.functions]
    while graphs:
        for node in graphs.pop().node:
            found.add(node.op_type)
            for attribute in node.attribute:
                graphs += [attribute.g] if attribute.HasField("g") else attribute.graphs
    return found


def strata(saved):
    """{(operator, direction and distance): pairs}"""
    operators, versions = {}, {}
    for path in {pair.original for pair in saved}:
        model = onnx.load(path, load_external_data=False)
        operators[path] = operators_of(model)
        versions[path] = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0)
    frequency = collections.Counter(operator for found in operators.values() for operator in found)
    groups = collections.defaultdict(list)
    for pair in saved:
        way = pair.target - versions[pair.original]
        distance = next(limit for limit in (1, 3, 7, 99) if abs(way) <= limit)
        operator = min(sorted(operators[pair.original]), key=lambda name: frequency[name], default="(none)")
        groups[operator, "up" if way > 0 else "down", distance].append(pair)
    return groups


def sample(saved, count, seed):
    """One pair from each group in turn."""
    generator = random.Random(seed)
    groups = strata(saved)
    queues = [generator.sample(pairs, len(pairs)) for _, pairs in sorted(groups.items())]
    taken = []
    while queues and len(taken) < count:
        taken += [queue.pop() for queue in queues]
        queues = [queue for queue in queues if queue]
    return taken[:count], len(groups)


def is_known(rows, title, pair):
    operators = operators_of(onnx.load(pair.path, load_external_data=False))
    for runtime, operator, opsets, _ in rows:
        first, last = map(int, opsets.split(".."))
        if title.startswith(runtime) and operator in operators and first <= pair.target <= last:
            return True
    return False


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    opset_saved.arguments(options)
    options.add_argument("--count", type=int, default=4000, help="pairs in the sample")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--known", type=pathlib.Path, help="disagreements of known cause")
    options.add_argument("--list", type=pathlib.Path, metavar="FILE", help="writes runtime, pair and verdict of each")
    args = options.parse_args()

    # What Bernoulli draws no runtime has to repeat.
    saved = [pair for pair in opset_saved.saved_in(args.saved, args.folders) if "test_bernoulli" not in pair.name]
    pairs, groups = sample(saved, args.count, args.seed)
    print(f"{len(pairs)} of {len(saved)} converted models, from {groups} groups of operator, direction and distance; seed {args.seed}")
    known = []
    if args.known:
        known = [line.split("\t") for line in args.known.read_text().splitlines() if line and not line.startswith("#")]
    wrong, lines = set(), []
    witnesses = collections.Counter()
    for title, run in RUNTIMES.items():
        counts, skipped = collections.Counter(), collections.Counter()
        for pair, verdict in forked.each(pairs, lambda pair: judged(pair, run), SECONDS):
            kind, _, why = verdict.partition(":")
            lines.append(f"{title}\t{pair}\t{verdict}\n")
            if kind == "died":
                kind, why = "not run", " " + verdict
            if kind == "agreed":
                witnesses[pair.path] += 1
            if kind.startswith("disagreed"):
                explained = is_known(known, title, pair)
                if not explained:
                    wrong.add(pair.path)
                    print(f"{title}: {pair}: {verdict}")
                kind = "disagreed, cause known" if explained else "disagreed"
            counts[kind] += 1
            if kind == "not run":
                skipped[why[:60]] += 1
        print(f"{title}: " + ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)))
        for why, count in skipped.most_common(5):
            print(f"  not run, {count}:{why}")
    agreed = collections.Counter(witnesses.values())
    if not onnxruntime:
        print("ONNX Runtime is not installed")
    print(f"{agreed.total()} pairs agreed by one runtime at least, {agreed[2]} by both")
    if args.list:
        args.list.write_text("".join(lines))
    print(f"{len(pairs) - len(witnesses.keys() | wrong)} skipped", f"{len(witnesses.keys() - wrong)} passed, {len(wrong)} failed", sep="\n")
    return 1 if wrong or not agreed else 0


if __name__ == "__main__":
    sys.exit(main())
