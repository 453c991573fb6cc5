#!/usr/bin/env python3
"""Holds the measured support profiles against the runtimes that they describe, on whole models.

    targets.py [--models DIR...] [--every N] [--program build/release/bin/onnxkit] [--write]

Each DIR is searched for model.onnx; where test_data_set_0 or data (of scripts/torch_ops --folder) lies beside it the model is run, else only
loaded. What the runtime does is compared with what `onnxkit check --target` says of the model as a whole: it can run, it cannot, or that is
not known. Models that are wrong for every target are counted apart, and so are those that a runtime loads and that then fail on the inputs.
--every N takes each Nth model. --write renews the first table of docs/results/targets.md.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "scripts")]

import onnx  # noqa: E402
import results  # noqa: E402
from support.worker import Worker  # noqa: E402

TARGETS = ("onnxruntime", "openvino")
PROTO = {"tensor_type": onnx.TensorProto, "sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto, "map_type": onnx.MapProto}
BATCH = 100
DATA = ("test_data_set_0", "data")
STATUSES = ("runs", "loads", "fails", "refused")


def said(program, target, paths):
    """path -> 'broken' | 'cannot' | 'unknown' | 'runs'"""
    verdicts = {}
    for start in range(0, len(paths), BATCH):
        batch = [str(p) for p in paths[start : start + BATCH]]
        call = subprocess.run([program, "check", "--format", "json", "--target", target, *batch], capture_output=True, text=True, errors="replace")
        for file in json.loads(call.stdout)["files"]:
            codes = {(finding["code"], finding["severity"]) for finding in file["findings"]}
            errors = {code.startswith("target-") for code, severity in codes if severity == "error"}
            known = "cannot" if True in errors else "unknown" if ("target-unknown", "info") in codes else "runs"
            verdicts[file["path"]] = "broken" if False in errors else known
    return {path: verdicts[str(path)] for path in paths}


def inputs_beside(path, model):
    """The first data set's inputs, or None when there is none."""
    folder = next((path.parent / name for name in DATA if (path.parent / name).is_dir()), None)
    if folder is None:
        return None
    weights = {w.name for w in model.graph.initializer}
    infos = [info for info in model.graph.input if info.name not in weights]
    values = {}
    for index, info in enumerate(infos):
        file = folder / f"input_{index}.pb"
        kind = info.type.WhichOneof("value")
        if not file.is_file() or kind not in PROTO:
            return None
        values[info.name] = PROTO[kind].FromString(file.read_bytes())
    return values


def did(worker, path):
    """'runs', 'loads', 'fails' (on the inputs, after it was loaded) or 'refused', and why."""
    try:
        model = onnx.load(str(path))
        inputs = inputs_beside(path, model)
        status, why = worker.try_model(model, inputs)
        is_loaded = status == "refused" and inputs is not None and worker.try_model(model, None)[0] == "loads"
        return "fails" if is_loaded else status, why
    except Exception as fault:  # the onnx package cannot read or write everything that is in the folders
        return "unread", str(fault)


def shares(counts):
    """How often the profile is right about what loads, both ways, and about what runs."""

    def share(title, right, wrong, unknown):
        return f"{title}: {right} of {right + wrong} predictions are right ({100 * right / max(right + wrong, 1):.1f} %), {unknown} more are unknown"

    taken = [status for status in STATUSES if status != "refused"]
    loaded = {verdict: sum(counts[status, verdict] for status in taken) for verdict in ("runs", "cannot", "unknown")}
    refused = {verdict: counts["refused", verdict] for verdict in ("runs", "cannot", "unknown")}
    unknown = loaded["unknown"] + refused["unknown"]
    return [
        share("loading", loaded["runs"] + refused["cannot"], loaded["cannot"] + refused["runs"], unknown),
        share("what it loads", loaded["runs"], loaded["cannot"], loaded["unknown"]),
        share("what it refuses", refused["cannot"], refused["runs"], refused["unknown"]),
        share("`runs`", loaded["runs"], refused["runs"], 0),
        share("`cannot`", refused["cannot"], loaded["cannot"], 0),
        share("running", loaded["runs"] - counts["fails", "runs"] + refused["cannot"] + counts["fails", "cannot"],
              loaded["cannot"] - counts["fails", "cannot"] + refused["runs"] + counts["fails", "runs"], unknown),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=pathlib.Path, nargs="+", default=[HERE.parent.parent / "build" / "official"])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth model")
    parser.add_argument("--program", default=str(HERE.parent.parent / "build" / "release" / "bin" / "onnxkit"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true", help="models of which nothing is known, too")
    options = parser.parse_args()
    found = sorted(p for folder in options.models for p in folder.rglob("model.onnx") if not (p.parent / "not_exported").exists())
    paths = found[:: options.every]
    rows = []
    for target in TARGETS:
        verdicts = said(options.program, target, paths)
        worker = Worker(target)
        counts = collections.Counter()
        for path in paths:
            status, why = did(worker, path)
            counts[status, verdicts[path]] += 1
            wrong = (status, verdicts[path]) in (("runs", "cannot"), ("loads", "cannot"), ("fails", "runs"), ("refused", "runs"))
            if wrong or (options.verbose and verdicts[path] == "unknown"):
                print(f"{target}: {status}, profile says {verdicts[path]}: {path} {why}", flush=True)
        worker.close()
        for status in STATUSES:
            rows.append([target, status, *(counts[status, verdict] for verdict in ("runs", "unknown", "cannot", "broken"))])
        print(*(f"{target}: {line}" for line in shares(counts)), sep="\n")
    table = results.table(["target", "what it does", "runs", "unknown", "cannot run", "broken for every target"], rows)
    print(table)
    if options.write:
        note = f"{len(paths)} models, what the runtime does with each and what its profile says (`tests/oracle/targets.py`)."
        page = results.FOLDER / "targets.md"
        others = "\n## " + page.read_text().split("\n## ", 1)[1] if page.exists() and "\n## " in page.read_text() else ""
        meaning = "`loads`: no inputs to run it with, or the Python interface cannot feed them; `fails`: loaded, and then refused on the inputs."
        results.write_page("targets", "Support profiles", f"{note} {meaning}\n\n{table}{others}")


if __name__ == "__main__":
    main()
