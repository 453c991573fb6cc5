#!/usr/bin/env python3
"""How far runtimes' own functions are from the exact ones, in roundings of float32. Prints a table for docs/noise-floor.md.

    scripts/function_errors.py [--all]

Columns by range of the input: root mean square and largest |error|, relative to the result and absolute, both over 2^-24. The noise
rules that kernels state must cover them; --all shows functions and ranges where both runtimes are within 3 roundings of the result, too.
"""
import argparse
import math

import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import TensorProto, helper

UNIT = 2.0**-24
COUNT = 20000
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772  # of the operator's definition


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


def expm1_below_zero(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


FUNCTIONS = {
    "Sigmoid": sigmoid,
    "Tanh": np.tanh,
    "Erf": np.vectorize(math.erf),
    "Exp": np.exp,
    "Log": lambda x: np.log(np.abs(x)),
    "Softplus": lambda x: np.logaddexp(0, x),
    "Gelu": np.vectorize(lambda x: x / 2 * math.erfc(-x / math.sqrt(2))),
    "Mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "Elu": expm1_below_zero,
    "Selu": lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * expm1_below_zero(x)),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "HardSigmoid": lambda x: np.clip(np.float64(np.float32(0.2)) * x + 0.5, 0, 1),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Sin": np.sin,
    "Cos": np.cos,
}
RANGES = [(-64, -16), (-16, -4), (-4, -1), (-1, -1e-3), (-1e-3, 1e-3), (1e-3, 1), (1, 4), (4, 16), (16, 64)]


def model_of(op):
    nodes = [helper.make_node(op, ["x" if op != "Log" else "a"], ["y"])]
    if op == "Log":
        nodes.insert(0, helper.make_node("Abs", ["x"], ["a"]))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [COUNT]) for name in "xy"]
    graph = helper.make_graph(nodes, op, values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()


def errors(result, exact):
    error = np.abs(result.astype(np.float64) - exact) / UNIT
    normal = np.abs(exact) > 2.0**-120
    relative = error[normal] / np.abs(exact[normal])
    return [f"{np.sqrt(np.mean(part**2)):.2g} / {part.max():.2g}" if part.size else "-" for part in (relative, error)], \
        relative.size == 0 or relative.max() <= 3


def main():
    parser = argparse.ArgumentParser(description="Errors of runtimes' functions.")
    parser.add_argument("--all", action="store_true", help="also where both are within 3 roundings of the result")
    options = parser.parse_args()
    core = openvino.Core()
    print("| function | input | ONNX Runtime: relative | absolute | OpenVINO: relative | absolute |\n|---|---|---:|---:|---:|---:|")
    for op, function in FUNCTIONS.items():
        model = model_of(op)
        session = onnxruntime.InferenceSession(model)
        compiled = core.compile_model(core.read_model(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        for low, high in RANGES:
            x = np.random.default_rng(1).uniform(low, high, COUNT).astype(np.float32)
            exact = function(x.astype(np.float64))
            cells, good = zip(*(errors(result, exact) for result in (session.run(None, {"x": x})[0], compiled({"x": x})[0])))
            if options.all or not all(good):
                print(f"| {op} | {low:g} .. {high:g} | " + " | ".join(cells[0] + cells[1]) + " |")


if __name__ == "__main__":
    main()
