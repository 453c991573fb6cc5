#!/usr/bin/env python3
"""Writes a decoder of 1.5 billion parameters as exporters write them, for measurements of what large models cost.

    decoder_network.py FOLDER [--layers 27] [--width 2048] [--inner 5632] [--heads 16] [--words 32000] [--tokens 64]

FOLDER/decoder.onnx takes token ids [1, tokens] and gives logits. Weights are bfloat16 in decoder.data (3 GB), random and seeded; each is cast to
float32 where it is used, since ONNX Runtime multiplies no bfloat16 on CPUs. RMSNorm, rotary positions, attention and SiLU consist of primitives.
"""
import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Decoder:
    """Nodes with fresh names; weights go to the data file as they are made."""

    def __init__(self, data):
        self.data, self.nodes, self.tensors = data, [], []
        self.random = np.random.default_rng(1)
        self.offset = 0

    def node(self, op, *inputs, **attributes):
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], output, **attributes))
        return output

    def constant(self, values, kind=np.float32):
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(values, kind), name))
        return name

    def weight(self, *shape, spread, mean=0.0):
        """A bfloat16 weight in the data file, cast to float32."""
        numbers = self.random.standard_normal(shape, np.float32)
        numbers *= spread
        numbers += mean
        raw = (numbers.view(np.uint32) >> 16).astype(np.uint16).tobytes()
        tensor = TensorProto(name=f"w{len(self.tensors)}", data_type=TensorProto.BFLOAT16, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "decoder.data"), ("offset", self.offset), ("length", len(raw))):
            tensor.external_data.add(key=key, value=str(value))
        self.data.write(raw)
        self.data.write(bytes(-len(raw) % 4096))
        self.offset += len(raw) + -len(raw) % 4096
        self.tensors.append(tensor)
        return self.node("Cast", tensor.name, to=TensorProto.FLOAT)

    def linear(self, x, inputs, outputs):
        return self.node("MatMul", x, self.weight(inputs, outputs, spread=inputs**-0.5))

    def norm(self, x, width):
        mean = self.node("ReduceMean", self.node("Pow", x, self.two), axes=[-1], keepdims=1)
        root = self.node("Sqrt", self.node("Add", mean, self.epsilon))
        return self.node("Mul", self.node("Div", x, root), self.weight(width, spread=0.1, mean=1))

    def heads(self, x):
        return self.node("Transpose", self.node("Reshape", x, self.split), perm=[0, 2, 1, 3])

    def rotated(self, x):
        first, second = (self.node("Slice", x, *bounds, self.last_axis) for bounds in self.halves)
        turned = self.node("Concat", self.node("Neg", second), first, axis=-1)
        return self.node("Add", self.node("Mul", x, self.cosines), self.node("Mul", turned, self.sines))

    def prepare(self, tokens, width, heads):
        size = width // heads
        self.two, self.epsilon = self.constant(2), self.constant(1e-5)
        self.split, self.joined = self.constant([0, 0, heads, size], np.int64), self.constant([0, 0, width], np.int64)
        self.last_axis = self.constant([-1], np.int64)
        zero, half, end = (self.constant([at], np.int64) for at in (0, size // 2, size))
        self.halves = ((zero, half), (half, end))
        angles = np.outer(np.arange(tokens), 10000.0 ** (-2 * np.arange(size // 2) / size))
        angles = np.concatenate([angles, angles], axis=1)
        self.cosines, self.sines = self.constant(np.cos(angles)), self.constant(np.sin(angles))
        self.scale = self.constant(size**-0.5)
        self.mask = self.constant(np.triu(np.full((tokens, tokens), -1e9), 1))

    def layer(self, x, width, inner):
        y = self.norm(x, width)
        query, key, value = (self.heads(self.linear(y, width, width)) for _ in range(3))
        keys = self.node("Transpose", self.rotated(key), perm=[0, 1, 3, 2])
        scores = self.node("Mul", self.node("MatMul", self.rotated(query), keys), self.scale)
        shares = self.node("Softmax", self.node("Add", scores, self.mask), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", shares, value), perm=[0, 2, 1, 3])
        x = self.node("Add", x, self.linear(self.node("Reshape", mixed, self.joined), width, width))
        y = self.norm(x, width)
        gate = self.linear(y, width, inner)
        gated = self.node("Mul", self.node("Mul", gate, self.node("Sigmoid", gate)), self.linear(y, width, inner))
        return self.node("Add", x, self.linear(gated, inner, width))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    for name, fallback in (("layers", 27), ("width", 2048), ("inner", 5632), ("heads", 16), ("words", 32000), ("tokens", 64)):
        parser.add_argument(f"--{name}", type=int, default=fallback)
    sizes = parser.parse_args()
    sizes.folder.mkdir(parents=True, exist_ok=True)
    with open(sizes.folder / "decoder.data", "wb") as data:
        net = Decoder(data)
        net.prepare(sizes.tokens, sizes.width, sizes.heads)
        x = net.node("Gather", net.weight(sizes.words, sizes.width, spread=1), "ids")
        for _ in range(sizes.layers):
            x = net.layer(x, sizes.width, sizes.inner)
        logits = net.linear(net.norm(x, sizes.width), sizes.width, sizes.words)
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [1, sizes.tokens])
    output = helper.make_tensor_value_info(logits, TensorProto.FLOAT, [1, sizes.tokens, sizes.words])
    graph = helper.make_graph(net.nodes, "decoder", [ids], [output], net.tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="decoder_network")
    onnx.save(model, sizes.folder / "decoder.onnx")
    print(f"{net.offset / 2e9:.2f} billion parameters")


if __name__ == "__main__":
    main()
