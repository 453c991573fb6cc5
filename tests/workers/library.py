#!/usr/bin/env python3
"""ONNX Runtime by its shared library, in the program's own process (-b onnxruntime-lib).

    library.py --program build/release/bin/onnxkit --stand-ins build/release/onnxruntime_cuda [-v]

Exported models agree with the reference; what the backend does not take, a library that is none and one that is missing are errors with a
reason. The provider cuda runs on stand-ins for its libraries, with the CPU in the place of the device. Where the Python package is missing its
models are skipped.
"""
import argparse
import ctypes.util
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from suite import Suite

MODELS = ["ml/kmeans_iris", "precision/fc2_bf16_weights", "control_flow/if_shapes_opset11", "control_flow/scan_opset16", "upsample/opset13_linear_half_pixel"]


def onnxkit(options, *words, **environment):
    variables = os.environ | {"ONNXKIT_PYTHON": sys.executable} | environment
    return subprocess.run([options.program.resolve(), *map(str, words)], env=variables, cwd=ROOT, capture_output=True, text=True)


def fault_of_model(options, folder):
    """The reference and the library agree on a model and its recorded inputs."""
    run = onnxkit(options, "diff", folder / "model.onnx", "-b", "reference,onnxruntime-lib", "--set", folder)
    return "" if run.returncode == 0 else f"exit status {run.returncode}: {(run.stdout + run.stderr)[-400:]}"


def fault_of_bench(options, model):
    run = onnxkit(options, "bench", model, "-b", "onnxruntime-lib,onnxruntime-lib:optimization=none", "--threads", "1", "--max-time", "1s", "--format", "json")
    if run.returncode:
        return f"exit status {run.returncode}: {run.stderr[-400:]}"
    sides = json.loads(run.stdout)["benchmarks"][0]["sides"]
    if any(side["wall"]["median"] <= 0 or side["cpu"]["median"] <= 0 or side["options"].get("threads") != "1" for side in sides):
        return f"figures {[side['wall'] for side in sides]}"
    return "" if all(side["verdict"] in ("identical", "rounding") for side in sides) else f"verdicts {[side['verdict'] for side in sides]}"


def fault_of_sizes(options, folder):
    """An output of other sizes than the model declares, in more than one run."""
    stale = folder / "stale.onnxtxt"
    stale.write_text('<ir_version: 8, opset_import: ["" : 17]>\nmain (float[N, 10] x) => (float[1, 10] y) { y = Relu (x) }\n')
    run = onnxkit(options, "bench", stale, "-b", "onnxruntime-lib,onnxruntime", "--batch", "8", "--max-time", "500ms", "--format", "json")
    sides = json.loads(run.stdout or '{"benchmarks": [{"sides": []}]}')["benchmarks"][0]["sides"]
    return "" if len(sides) == 2 and not any("failure" in side for side in sides) else f"exit status {run.returncode}: {[side.get('failure') for side in sides]} {run.stderr[-300:]}"


def fault_of_log(options, folder):
    """A name that steers a terminal reaches none, when the model fails, either."""
    nodes = [onnx.helper.make_node("Reshape", ["x", "s"], ["y"], name="evil\x1b[31mRED\x1b]0;title\x07")]
    inputs = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4]), onnx.helper.make_tensor_value_info("s", onnx.TensorProto.INT64, [1])]
    graph = onnx.helper.make_graph(nodes, "g", inputs, [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, folder / "escapes.onnx")
    for backend in ("onnxruntime-lib", "onnxruntime"):
        run = onnxkit(options, "bench", folder / "escapes.onnx", "-b", backend, "--max-time", "300ms")
        if run.returncode != 1 or "failed at run" not in run.stdout or "\x1b" in run.stdout + run.stderr:
            return f"{backend}: exit status {run.returncode}: {run.stdout[-300:]!r} {run.stderr[-300:]!r}"
    return ""


def fault_of_path(options, folder, model):
    """A model at a path that is not UTF-8 reaches backends in other processes, too."""
    path = os.fsencode(folder) + b"/\xff.onnx"
    pathlib.Path(os.fsdecode(path)).write_bytes(model.read_bytes())
    run = onnxkit(options, "bench", os.fsdecode(path), "-b", "onnxruntime-lib,onnxruntime", "--max-time", "300ms")
    return "" if run.returncode == 0 and "failed" not in run.stdout else f"exit status {run.returncode}: {run.stdout[-400:]!r} {run.stderr[-300:]!r}"


def refusal(run, status, words):
    text = run.stdout + run.stderr
    return "" if run.returncode == status and words in text else f"exit status {run.returncode} without {words!r}: {text[-300:]}"


def cuda_environment(options):
    """With the stand-ins in the place of the package's library and of CUDA's."""
    folder = pathlib.Path(importlib.util.find_spec("onnxruntime").origin).parent / "capi"
    return {"ONNXKIT_REAL_ONNXRUNTIME": str(next(folder.glob("libonnxruntime.so*"))), "ONNXKIT_ONNXRUNTIME": str(options.stand_ins / "libonnxruntime.so"),
            "ONNXKIT_CUDA_PATH": str(options.stand_ins)}


def faults_of_cuda(options, folder, model):
    """By what it is about: the provider cuda, whose inputs and outputs lie at fixed places, against the reference."""
    places = cuda_environment(options)
    sizes = folder / "sizes.onnxtxt"
    sizes.write_text('<ir_version: 8, opset_import: ["" : 17]>\nmain (float[N] x) => (float[N] y) { y = Add (x, x) }\n')
    graph = onnxkit(options, "diff", sizes, "-b", "reference,onnxruntime-lib:provider=cuda:graph=on:layout=nhwc:tf32=off", "--dim", "N=3", **places)
    wanted = ["cuda has_user_compute_stream=1", "cuda enable_cuda_graph=1", "cuda prefer_nhwc=1", "cuda use_tf32=0", "run gpu_graph_id=-1", "run gpu_graph_id=1"]
    missing = [line for line in wanted if line not in graph.stderr]
    yield "cuda: a graph", f"exit status {graph.returncode}: {graph.stdout[-300:]}" if graph.returncode else f"lacks {missing}" if missing else ""
    plain = onnxkit(options, "diff", model, "-b", "reference,onnxruntime-lib:provider=cuda:tf32=off", **places)
    yield "cuda: without a graph", "" if plain.returncode == 0 and "gpu_graph_id" not in plain.stderr else f"exit status {plain.returncode}: {plain.stderr[-300:]}"
    run = onnxkit(options, "bench", sizes, "-b", "onnxruntime-lib:provider=cuda:graph=on", "--batch", "1,8", "--max-time", "1s", "--format", "json", **places)
    sides = [one["sides"][0] for one in json.loads(run.stdout or '{"benchmarks": []}')["benchmarks"]]
    right = len(sides) == 2 and all(0 < side.get("on_device", side["wall"])["median"] < side["wall"]["median"] and side["verdict"] in ("identical", "rounding") for side in sides)
    yield "cuda: bench", "" if right else f"exit status {run.returncode}: {run.stdout[:600]}"
    yield "cuda: no device", refusal(onnxkit(options, "run", model, "-b", "onnxruntime-lib:provider=cuda", ONNXKIT_NO_DEVICE="1", **places), 3, "no device is there")
    bare = places | {"ONNXKIT_CUDA_PATH": str(folder)}
    yield "cuda: no libraries", refusal(onnxkit(options, "run", model, "-b", "onnxruntime-lib:provider=cuda", **bare), 3, "no library libcudart.so.13 or libcudart.so.12 was found")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--stand-ins", required=True, type=pathlib.Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    suite = Suite(options.verbose)
    folders = [ROOT / "testdata/exported" / model for model in MODELS]
    folders = [folder for folder in folders if (folder / "model.onnx").exists()]
    model = folders[0] / "model.onnx"
    suite.check("a missing library", refusal(onnxkit(options, "run", model, "-b", "onnxruntime-lib", ONNXKIT_ONNXRUNTIME="/no/such.so"), 3, "no library of ONNX Runtime was found"))
    other = ctypes.util.find_library("c")
    suite.check("another library", refusal(onnxkit(options, "run", model, "-b", "onnxruntime-lib", ONNXKIT_ONNXRUNTIME=other), 3, "is not ONNX Runtime's"))
    if importlib.util.find_spec("onnxruntime") is None:
        suite.skip(len(folders) + 16, f"onnxruntime-lib: no module named onnxruntime in {sys.executable}")
        return suite.close()
    for folder in folders:
        suite.check(str(folder.relative_to(ROOT)), fault_of_model(options, folder))
    suite.check("bench", fault_of_bench(options, model))
    with tempfile.TemporaryDirectory(prefix="onnxkit-library-") as name:
        damaged = pathlib.Path(name) / "damaged.onnx"
        damaged.write_bytes(model.read_bytes()[:-40])
        unknown = pathlib.Path(name) / "unknown.onnxtxt"
        unknown.write_text('<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>\nmain (float[2] x) => (float[2] y) { y = mine.Foo (x) }\n')
        strings = pathlib.Path(name) / "strings.onnxtxt"
        strings.write_text('<ir_version: 8, opset_import: ["" : 17]>\nmain (string[2] x) => (string[2] y) { y = Identity (x) }\n')
        slow = pathlib.Path(name) / "slow.onnxtxt"
        slow.write_text('<ir_version: 8, opset_import: ["" : 17]>\nmain (float[2000,2000] x) => (float[2000,2000] y) {\n  t0 = Identity (x)\n'
                        + "".join(f"  t{i + 1} = MatMul (t{i}, x)\n" for i in range(200)) + "  y = Identity (t200)\n}\n")
        suite.check("sizes that the model does not declare", fault_of_sizes(options, pathlib.Path(name)))
        suite.check("names that steer a terminal", fault_of_log(options, pathlib.Path(name)))
        suite.check("a path that is not UTF-8", fault_of_path(options, pathlib.Path(name), model))
        suite.check("a time limit", refusal(onnxkit(options, "run", slow, "-b", "onnxruntime-lib", "--time-limit", "500ms"), 3, "time-limit"))
        suite.check("a damaged model", "" if onnxkit(options, "run", damaged, "-b", "onnxruntime-lib").returncode == 3 else "no error")
        suite.check("an unknown operator", "" if onnxkit(options, "run", unknown, "-b", "onnxruntime-lib").returncode == 3 else "no error")
        with_cuda = "CUDAExecutionProvider" in importlib.import_module("onnxruntime").get_available_providers()
        built = onnxkit(options, "run", model, "-b", "onnxruntime-lib:provider=cuda")
        suite.check("cuda: built without it", "" if with_cuda else refusal(built, 3, "was built without it; pip install onnxruntime-gpu"))
        for name, fault in faults_of_cuda(options, pathlib.Path(name), model):
            suite.check(name, fault)
        for word in ("graph=on", "layout=nhwc"):
            suite.check(f"{word} without cuda", refusal(onnxkit(options, "run", model, "-b", "onnxruntime-lib:" + word), 2, "takes effect with provider=cuda only"))
        suite.check("strings", refusal(onnxkit(options, "run", strings, "-b", "onnxruntime-lib"), 3, "is not a tensor of numbers"))
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
