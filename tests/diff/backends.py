#!/usr/bin/env python3
"""`onnxkit diff` with real runtimes: exported models are identical or float32 rounding on all of them, their twins with one wrong weight
on none.

    backends.py --program build/release/bin/onnxkit [--verbose]

Runtimes that are not installed are counted as skipped. The interpreter that runs this runs the workers, too.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from suite import Suite

DATA = ROOT / "testdata"
BACKENDS = ["onnxruntime", "onnx-reference", "openvino:precision=f32"]
# Each with the backends that cannot load or run it.
MODELS = {
    "models/unet_shapes": [],
    "exported/rnn/gru_opset11": [],
    "exported/rnn/bilstm_embedding_opset17": [],
    "exported/upsample/torch2.15.0_opset18_bilinear_align": [],
    "exported/upsample/opset11_linear_half_pixel": [],
    "exported/control_flow/loop_if_opset13": [],
    "exported/control_flow/list_sequence_opset14": [],
    "exported/ml/random_forest_iris_zipmap": ["onnx-reference", "openvino"],
    "exported/ml/knn_iris": ["openvino"],
    "exported/functions/modules_as_functions_opset15": ["onnx-reference", "openvino"],
    "exported/strings/split_opset20": ["openvino"],
    "exported/quantized/fc2_dynamic_uint8": [],
}
TWINS = ["models/unet_shapes", "exported/rnn/gru_opset11", "exported/rnn/bilstm_embedding_opset17"]


class DiffSuite(Suite):
    def __init__(self, program, verbose):
        super().__init__(verbose)
        self.program = program

    def run(self, *arguments):
        """(exit status, report)"""
        environment = os.environ | {"ONNXKIT_PYTHON": sys.executable}
        done = subprocess.run([self.program, *map(str, arguments), "--format", "json"], env=environment, capture_output=True, text=True, check=False)
        if not done.stdout:
            raise SystemExit(f"onnxkit {' '.join(map(str, arguments))}: {done.stderr}")
        return done.returncode, json.loads(done.stdout)


def healthy(side):
    """"" or what is wrong with a side that should agree."""
    if "failure" in side:
        return f'{side["failure"]["at"]}: {side["failure"]["error"]["message"]}'
    wrong = [f'{output["name"]} is {output["verdict"]} {output["profile"] or ""} {output["floors"][:1]}' for output in side["outputs"]
             if output["verdict"] != "identical" and (output["verdict"], output["profile"]) != ("rounding", "float32")]
    return "; ".join(wrong) if side["outputs"] else "no outputs"


def inputs_of(folder):
    return ["--set", folder] if any(folder.glob("test_data_set_*")) else ["--samples", "2"]


def agreement(suite, backends):
    for model, limits in MODELS.items():
        folder = DATA / model
        status, report = suite.run("diff", folder / "model.onnx", "-b", ",".join(["reference", *backends]), *inputs_of(folder))
        for backend, side in zip(backends, report["sides"][1:]):
            cannot = any(backend.startswith(name) for name in limits)
            fault = healthy(side)
            if cannot:
                code = side.get("failure", {}).get("error", {}).get("code")
                fault = "" if code in ("worker-unsupported", "worker-failed") else f"it should not run here: {code}"
            suite.check(f"{model} on {backend}", fault)
        failed = any("failure" in side for side in report["sides"])
        suite.check(f"status of {model}", "" if status == int(failed) else f"status {status}")


def twin(path, to):
    """The model with its largest weight off by one percent."""
    model = onnx.load(path)
    weights = [tensor for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT]
    largest = max(weights, key=lambda tensor: numpy.prod(tensor.dims))
    largest.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(largest) * numpy.float32(1.01), largest.name))
    onnx.save(model, to)


def faults(suite, backends, scratch):
    for model in TWINS:
        folder = DATA / model
        wrong = scratch / (re.sub(r"\W", "_", model) + ".onnx")
        twin(folder / "model.onnx", wrong)
        for backend in backends:
            sides = [f"reference:{folder / 'model.onnx'}", wrong, "-b", backend]
            status, report = suite.run("diff", *sides, *inputs_of(folder))
            verdict = report["verdict"]
            suite.check(f"twin of {model} on {backend}", "" if (verdict, status) == ("not rounding", 1) else f"{verdict}, status {status}")


def against_itself(suite, backend):
    folder = DATA / "exported/rnn/gru_opset11"
    status, report = suite.run("diff", folder / "model.onnx", "--self", backend, *inputs_of(folder))
    for side in report["sides"][1:]:
        suite.check(f"{side['label']} against itself", healthy(side))
    again = report["sides"][1]
    suite.check(f"{backend} gives the same again", "" if again["verdict"] == "identical" else again["verdict"])
    suite.check(f"status of {backend} against itself", "" if status == 0 else f"status {status}")


def foreign(suite, scratch):
    """A model of another framework, on either side."""
    model = DATA / "models/unet_shapes/model.onnx"
    import openvino
    openvino.save_model(openvino.convert_model(model), scratch / "net.xml", compress_to_fp16=False)
    exact = f"openvino:precision=f32:{scratch / 'net.xml'}"
    for sides in ([model, exact], [exact, model]):
        status, report = suite.run("diff", *sides)
        suite.check(f"{pathlib.Path(str(sides[0])).name} first", healthy(report["sides"][1]) or status and f"status {status}")
    status, report = suite.run("diff", f"openvino:precision=bf16:{scratch / 'net.xml'}", model)
    found = [(output["verdict"], output["profile"]) for output in report["sides"][1]["outputs"]]
    # Where the processor does not compute in bfloat16, OpenVINO computes in float32 whatever is asked for.
    arithmetic = "bfloat16" if "_bf16" in pathlib.Path("/proc/cpuinfo").read_text() else "float32"
    suite.check("bfloat16 first", "" if found == [("rounding", arithmetic)] else str(found))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    suite = DiffSuite(options.program, options.verbose)
    _, listed = suite.run("backends")
    there = {backend["name"]: backend for backend in listed["backends"] if backend["available"]}
    backends = [backend for backend in BACKENDS if backend.split(":")[0] in there]
    for backend in BACKENDS:
        if backend not in backends:
            suite.skip(len(MODELS) + len(TWINS), f"{backend.split(':')[0]} is not installed")
    if backends:
        agreement(suite, backends)
    with tempfile.TemporaryDirectory() as folder:
        faults(suite, backends, pathlib.Path(folder))
        if "openvino" in there:
            foreign(suite, pathlib.Path(folder))
    for backend in ("onnxruntime", "openvino"):
        if backend in there:
            against_itself(suite, backend + (":precision=f32" if backend == "openvino" else ""))
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
