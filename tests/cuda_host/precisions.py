#!/usr/bin/env python3
"""`diff` of the reference and the backend cuda on the libraries of the host, in the precisions that are narrower than float32: each output may be off by
rounding in the arithmetic that was asked for and by no more, and over all models some have to be off by as much.

    tests/cuda_host/precisions.py PROGRAM LIBRARIES [FOLDER]     default: some of testdata
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from suite import Suite

TESTDATA = pathlib.Path(__file__).resolve().parents[2] / "testdata"
FOLDERS = ("models/unet_shapes", "models/upsample", "models/rnn", "models/fc2", "cuda_libraries/precisions")
ARITHMETICS = {"f32": None, "f16": "float16", "f16:engines=measured": "float16", "bf16": "bfloat16", "fp8": "fp8", "tf32": None}  # no product on the host is made in TF32: float32 is what it may give

SLOW = {"f16:engines=measured": ("unet_shapes/model.onnx", "precisions/run_masks.onnxtxt")}  # run some hundred times where engines are measured; others have all that these have


def outputs(program, model, precision):
    """What the report says of each output; a text where there is none."""
    command = [program, "diff", model, "-b", f"reference,cuda:precision={precision}", "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        return run.stderr
    side = json.loads(run.stdout)["sides"][1]
    return side.get("outputs") or f"no outputs: {side}"


def fault_of(output):
    return "" if output["verdict"] in ("identical", "rounding") else f"output {output['name']}: {output['verdict']}"


def main():
    program, libraries = sys.argv[1:3]
    folders = [pathlib.Path(sys.argv[3]).resolve()] if len(sys.argv) > 3 else [TESTDATA / folder for folder in FOLDERS]
    os.environ["ONNXKIT_CUDA_PATH"] = libraries
    models = sorted(path for folder in folders for kind in ("*.onnx", "*.onnxtxt") for path in folder.rglob(kind))
    suite = Suite()
    for precision, arithmetic in ARITHMETICS.items():
        profiles = set()
        for model in models:
            if f"{model.parent.name}/{model.name}" in SLOW.get(precision, ()):
                continue
            found = outputs(program, model, precision)
            is_compared = not isinstance(found, str)
            suite.check(f"{precision} {model.parent.name}/{model.name}", "; ".join(filter(None, map(fault_of, found))) if is_compared else found)
            profiles.update(output.get("profile") for output in found if is_compared)
        if arithmetic:
            suite.check(f"{precision} is used", "" if arithmetic in profiles else f"no output was off by rounding in {arithmetic}")
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
