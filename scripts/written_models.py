"""Measures what onnxkit writes for another framework: official cases, run in a process of it, and whole models, proved by `onnxkit convert`.

Used by scripts/convert_to_tflite and scripts/convert_to_tensorflow.
"""
import argparse
import collections
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Runtime:
    """A framework in a process of its own, which models may take down. `serve` runs models that come through a pipe: a path and inputs by name."""

    def __init__(self, serve):
        self.serve, self.process = serve, None

    def run(self, path, feed):
        if self.process is None:
            self.pipe, there = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=self.serve, args=(there,), daemon=True)
            self.process.start()
            there.close()
        try:
            self.pipe.send((path, feed))
            if self.pipe.poll(120):
                return self.pipe.recv()
        except (EOFError, OSError):
            pass
        self.process.kill()
        self.process = None
        return "failed", "the process died"


def tensors(folder, kind):
    found = []
    while (file := folder / f"{kind}_{len(found)}.pb").exists():
        tensor = onnx.TensorProto()
        tensor.ParseFromString(file.read_bytes())
        found.append(numpy_helper.to_array(tensor))
    return found


def agrees(got, expected):
    if got.shape != expected.shape:
        return f"shape {got.shape} instead of {expected.shape}"
    if expected.dtype.kind in "biu":
        return "" if np.array_equal(got.astype(expected.dtype), expected) else "integers differ"
    scale = max(float(np.abs(expected[np.isfinite(expected)]).max(initial=0)), 1e-6)
    bound = max(1e-4, float(np.finfo(expected.dtype).eps)) * scale
    if np.array_equal(np.round(expected, 4), expected, equal_nan=True):
        bound = max(bound, 1e-4)
    close = np.allclose(got, expected, rtol=0, atol=bound, equal_nan=True)
    return "" if close else f"differs by {np.nanmax(np.abs(got - expected)) / scale:.1e}"


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def judge_case(program, folder, runtime, scratch):
    """(agree | differ | failed | refused | other, why, operator)"""
    data = folder / "test_data_set_0"
    path = folder / "model.onnx"
    try:
        model = onnx.load(path)
        operator = model.graph.node[-1].op_type if model.graph.node else ""
        inputs, outputs = tensors(data, "input"), tensors(data, "output")
    except Exception as error:
        return "other", str(error).splitlines()[0][:80], ""
    if any(value.dtype == object or value.dtype.kind not in "fiub" for value in (*inputs, *outputs)):
        return "other", "text, sequences or types that numpy does not have", operator
    remove(scratch)
    done = subprocess.run([program, "convert", "--no-verify", "-q", str(path), str(scratch)], capture_output=True, text=True)
    if done.returncode != 0:
        reason = next((line for line in done.stderr.splitlines() if "error[" in line), done.stderr[:200])
        return ("refused" if done.returncode == 1 else "other"), re.sub(r"^.*?error\[[\w-]+\]: ", "", reason)[:200], operator
    names = [port.name for port in model.graph.input if port.name not in {w.name for w in model.graph.initializer}]
    state, got = runtime.run(scratch, dict(zip(names, inputs)))
    if state != "ran":
        return "failed", got, operator
    for port, expected in zip(model.graph.output, outputs):
        if port.name and (why := agrees(np.asarray(got[port.name]), expected)):
            return "differ", why, operator
    return "agree", "", operator


def run_cases(arguments, serve, name):
    runtime, counts, rows = Runtime(serve), collections.Counter(), []
    by_operator = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(arguments.cases.rglob("model.onnx")):
            folder = path.parent
            if arguments.match and arguments.match not in str(folder) or not (folder / "test_data_set_0").is_dir():
                continue
            outcome, why, operator = judge_case(arguments.program, folder, runtime, pathlib.Path(scratch) / name.format("case"))
            counts[outcome] += 1
            by_operator[operator][outcome] += 1
            rows.append((outcome, folder.name, operator, why))
            if arguments.verbose and outcome not in ("agree", "other"):
                print(f"{outcome:8} {folder.name}  {why}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    for operator, outcomes in sorted(by_operator.items()):
        if outcomes["differ"] or outcomes["failed"]:
            print(f"  {operator}: " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    return 1 if counts["differ"] or counts["failed"] else 0


def run_models(arguments, operators_of, name, transpose):
    status = 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    # A large process would count as memory of those that it starts.
    process_of_its_own = multiprocessing.get_context("fork").Pool(1)
    print(f"| model | outcome | seconds | memory over the file, MB | operators | {transpose} |\n|---|---|---:|---:|---:|---:|")
    for path in arguments.models:
        out = arguments.out / name.format(path.stem)
        remove(out)
        process = subprocess.Popen([arguments.program, "convert", "--no-verify", "-q", str(path), str(out)], stderr=subprocess.PIPE, text=True)
        errors = process.stderr.read()
        _, code, usage = os.wait4(process.pid, 0)
        seconds = usage.ru_utime + usage.ru_stime
        if code != 0:
            reasons = re.findall(r"error\[[\w-]+\]: (.*)", errors)
            print(f"| {path.stem} | {'; '.join(reasons[:-1] or reasons)[:160]} | | | | |", flush=True)
            status = 1
            continue
        over = usage.ru_maxrss / 1024 - path.stat().st_size / 2**20
        remove(out)
        proof = subprocess.run([arguments.program, "convert", "--verify-limit", "600s", str(path), str(out)], capture_output=True, text=True,
                               env={**os.environ, "ONNXKIT_PYTHON": sys.executable})
        said = re.findall(r"(?:verified: .*|error\[[\w-]+\]: .*)", proof.stderr)
        outcome = said[-1] if said else proof.stderr[-100:]
        status |= "compared with" not in outcome
        try:
            names = process_of_its_own.apply(operators_of, (out,))
        except Exception as error:
            names = []
            if out.exists():
                status, outcome = 1, f"not loaded: {str(error).splitlines()[0]}"
        print(f"| {path.stem} | {outcome[:160]} | {seconds:.2f} | {over:.0f} | {len(names)} | {names.count(transpose)} |", flush=True)
    return status


def main(description, serve, operators_of, name, transpose):
    """`name` is that of a written model, with {} for the stem; `transpose` the operator that is counted."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--cases", type=pathlib.Path)
    parser.add_argument("--match", default="")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/written")
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/onnxkit"))
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    sys.exit(run_cases(arguments, serve, name) if arguments.cases else run_models(arguments, operators_of, name, transpose))
