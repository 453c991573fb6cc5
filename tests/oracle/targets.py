#!/usr/bin/env python3
"""Holds the measured support profiles against the runtimes that they describe, on whole models.

    targets.py [--models DIR...] [--program build/release/bin/onnxkit] [--write]

Each DIR is searched for model.onnx; where test_data_set_0 lies beside it the model is run, else only loaded. What the runtime does
is compared with what `onnxkit check --target` says of the model as a whole: it can run, it cannot, or that is not known. Models that are
wrong for every target are counted apart.
--write renews docs/results/targets.md.
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
    folder = path.parent / "test_data_set_0"
    if not folder.is_dir():
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
    """'runs', 'loads' or 'refused', and why."""
    try:
        model = onnx.load(str(path))
        return worker.try_model(model, inputs_beside(path, model))
    except Exception as fault:  # the onnx package cannot read or write everything that is in the folders
        return "unread", str(fault)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=pathlib.Path, nargs="+", default=[HERE.parent.parent / "build" / "official"])
    parser.add_argument("--program", default=str(HERE.parent.parent / "build" / "release" / "bin" / "onnxkit"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true", help="models of which nothing is known, too")
    options = parser.parse_args()
    paths = sorted(p for folder in options.models for p in folder.rglob("model.onnx"))
    rows = []
    for target in TARGETS:
        verdicts = said(options.program, target, paths)
        worker = Worker(target)
        counts = collections.Counter()
        for path in paths:
            status, why = did(worker, path)
            counts[status, verdicts[path]] += 1
            wrong = (status, verdicts[path]) in (("runs", "cannot"), ("loads", "cannot"), ("refused", "runs"))
            if wrong or (options.verbose and verdicts[path] == "unknown"):
                print(f"{target}: {status}, profile says {verdicts[path]}: {path} {why}", flush=True)
        worker.close()
        for status in ("runs", "loads", "refused"):
            rows.append([target, status, *(counts[status, verdict] for verdict in ("runs", "unknown", "cannot", "broken"))])
        right = counts["runs", "runs"] + counts["loads", "runs"] + counts["refused", "cannot"]
        predicted = sum(count for (_, verdict), count in counts.items() if verdict in ("runs", "cannot"))
        print(f"{target}: {right} of {predicted} predictions are right")
    table = results.table(["target", "what it does", "runs", "unknown", "cannot run", "broken for every target"], rows)
    print(table)
    if options.write:
        note = f"{len(paths)} models, what the runtime does with each and what its profile says (`tests/oracle/targets.py`)."
        results.write_page("targets", "Support profiles", f"{note} `loads`: no inputs to run it with, or the Python interface cannot feed them.\n\n{table}")


if __name__ == "__main__":
    main()
