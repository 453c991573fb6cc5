#!/usr/bin/env python3
"""Writes an ONNX model of some GB, for conversions past 2 GiB: products with square matrices, whose data lie in a file beside it. Needs onnx and numpy.

    build/venv/bin/python scripts/large_model.py FOLDER [--products 12] [--width 8192]
"""
import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--products", type=int, default=12)
    parser.add_argument("--width", type=int, default=8192)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    width, rng = given.width, np.random.default_rng(1)
    rows = rng.standard_normal((64, width)).astype(np.float32) / np.sqrt(width).astype(np.float32)
    nodes, weights, name = [], [], "x"
    with (given.folder / "model.data").open("wb") as file:
        for i in range(given.products):
            tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[width, width], data_location=TensorProto.EXTERNAL)
            for key, value in {"location": "model.data", "offset": file.tell(), "length": 4 * width * width}.items():
                tensor.external_data.add(key=key, value=str(value))
            for block in range(width // 64):
                file.write(np.roll(rows, (i + 1) * 97 + block * 131, axis=1).tobytes())
            weights.append(tensor)
            result = "y" if i == given.products - 1 else f"y{i}"
            nodes.append(helper.make_node("MatMul", [name, f"w{i}"], [result]))
            name = result
    ports = [[helper.make_tensor_value_info(port, TensorProto.FLOAT, ["batch", width])] for port in ("x", "y")]
    graph = helper.make_graph(nodes, "large", *ports, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), given.folder / "model.onnx")


main()
