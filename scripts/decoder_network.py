#!/usr/bin/env python3
"""Writes a decoder of 1.5 billion parameters as exporters write them, for measurements of what large models cost.

    decoder_network.py FOLDER [--layers 27] [--width 2048] [--inner 5632] [--heads 16] [--words 32000] [--tokens 64]
                       [--cache] [--kv-heads 16] [--float]

FOLDER/decoder.onnx takes token ids [1, tokens] and gives logits. Weights are bfloat16 in decoder.data (3 GB), random and seeded; each is cast to
float32 where it is used, since ONNX Runtime multiplies no bfloat16 on CPUs. RMSNorm, rotary positions, attention and SiLU consist of primitives.
--cache: takes any number of tokens, position_ids and past keys and values [1, kv heads, past, size] of each layer, and gives the present ones;
--kv-heads: heads of keys and values, each of them for several heads of queries; --float: weights are float32.
"""
import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Decoder:
    """Nodes with fresh names; weights go to the data file as they are made."""

    def __init__(self, data, sizes):
        self.data, self.nodes, self.tensors = data, [], []
        self.heads_of_queries, self.heads_of_keys = sizes.heads, sizes.kv_heads
        self.size = sizes.width // sizes.heads
        self.in_float, self.has_cache = sizes.float, sizes.cache
        self.inputs, self.outputs = [], []
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
        """A weight in the data file; one of bfloat16 is cast to float32."""
        numbers = self.random.standard_normal(shape, np.float32)
        numbers *= spread
        numbers += mean
        raw = numbers.tobytes() if self.in_float else (numbers.view(np.uint32) >> 16).astype(np.uint16).tobytes()
        kind = TensorProto.FLOAT if self.in_float else TensorProto.BFLOAT16
        tensor = TensorProto(name=f"w{len(self.tensors)}", data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "decoder.data"), ("offset", self.offset), ("length", len(raw))):
            tensor.external_data.add(key=key, value=str(value))
        self.data.write(raw)
        self.data.write(bytes(-len(raw) % 4096))
        self.offset += len(raw) + -len(raw) % 4096
        self.tensors.append(tensor)
        return tensor.name if self.in_float else self.node("Cast", tensor.name, to=TensorProto.FLOAT)

    def linear(self, x, inputs, outputs):
        return self.node("MatMul", x, self.weight(inputs, outputs, spread=inputs**-0.5))

    def norm(self, x, width):
        mean = self.node("ReduceMean", self.node("Pow", x, self.two), axes=[-1], keepdims=1)
        root = self.node("Sqrt", self.node("Add", mean, self.epsilon))
        return self.node("Mul", self.node("Div", x, root), self.weight(width, spread=0.1, mean=1))

    def heads(self, x, split):
        return self.node("Transpose", self.node("Reshape", x, split), perm=[0, 2, 1, 3])

    def with_past(self, x, name):
        """The keys or values of all positions, an output, each head for all heads of queries that read it."""
        if self.has_cache:
            sizes = [1, self.heads_of_keys, "past", self.size]
            self.inputs.append(helper.make_tensor_value_info(f"past.{name}", TensorProto.FLOAT, sizes))
            present = f"present.{name}"
            self.nodes.append(helper.make_node("Concat", [f"past.{name}", x], [present], present, axis=-2))
            self.outputs.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, [1, self.heads_of_keys, "total", self.size]))
            x = present
        if self.heads_of_keys == self.heads_of_queries:
            return x
        batch, heads, total, size = (self.node("Gather", self.node("Shape", x), at) for at in self.at_axis)
        apart = self.node("Concat", *(self.node("Unsqueeze", part, self.axis_0) for part in (batch, heads)), self.sharing,
                          *(self.node("Unsqueeze", part, self.axis_0) for part in (total, size)), axis=0)
        return self.node("Reshape", self.node("Expand", self.node("Unsqueeze", x, self.axis_2), apart), self.repeated)

    def rotated(self, x):
        first, second = (self.node("Slice", x, *bounds, self.last_axis) for bounds in self.halves)
        turned = self.node("Concat", self.node("Neg", second), first, axis=-1)
        return self.node("Add", self.node("Mul", x, self.cosines), self.node("Mul", turned, self.sines))

    def prepare(self, tokens, width):
        heads, size = self.heads_of_queries, self.size
        self.two, self.epsilon = self.constant(2), self.constant(1e-5)
        self.split, self.joined = self.constant([0, 0, heads, size], np.int64), self.constant([0, 0, width], np.int64)
        self.split_keys = self.constant([0, 0, self.heads_of_keys, size], np.int64)
        self.repeated = self.constant([0, heads, -1, size], np.int64)
        self.sharing = self.constant([heads // self.heads_of_keys], np.int64)
        self.axis_0, self.axis_2 = self.constant([0], np.int64), self.constant([2], np.int64)
        self.at_axis = [self.constant(at, np.int64) for at in range(4)]
        self.last_axis = self.constant([-1], np.int64)
        zero, half, end = (self.constant([at], np.int64) for at in (0, size // 2, size))
        self.halves = ((zero, half), (half, end))
        positions = 4096 if self.has_cache else tokens
        angles = np.outer(np.arange(positions), 10000.0 ** (-2 * np.arange(size // 2) / size))
        angles = np.concatenate([angles, angles], axis=1)
        self.cosines, self.sines = self.constant(np.cos(angles)), self.constant(np.sin(angles))
        self.scale = self.constant(size**-0.5)
        if self.has_cache:
            self.cosines, self.sines = (self.node("Unsqueeze", self.node("Gather", table, "position_ids"), self.constant([1], np.int64))
                                        for table in (self.cosines, self.sines))
            self.mask = self.causal_mask()
        else:
            self.mask = self.constant(np.triu(np.full((tokens, tokens), -1e9), 1))

    def causal_mask(self):
        """Rows are the last of all positions, columns all."""
        new = self.node("Gather", self.node("Shape", "ids"), self.at_axis[1])
        past = self.node("Gather", self.node("Shape", "past.0.key"), self.at_axis[2])
        total = self.node("Add", past, new)
        rows = self.node("Unsqueeze", self.node("Range", past, total, self.at_axis[1]), self.constant([1], np.int64))
        sees = self.node("LessOrEqual", self.node("Range", self.at_axis[0], total, self.at_axis[1]), rows)
        return self.node("Where", sees, self.constant(0), self.constant(np.finfo(np.float32).min))

    def layer(self, x, width, inner, number):
        y = self.norm(x, width)
        query = self.heads(self.linear(y, width, width), self.split)
        key, value = (self.heads(self.linear(y, width, self.heads_of_keys * self.size), self.split_keys) for _ in range(2))
        keys = self.node("Transpose", self.with_past(self.rotated(key), f"{number}.key"), perm=[0, 1, 3, 2])
        value = self.with_past(value, f"{number}.value")
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
    parser.add_argument("--kv-heads", type=int)
    parser.add_argument("--cache", action="store_true")
    parser.add_argument("--float", action="store_true")
    sizes = parser.parse_args()
    sizes.kv_heads = sizes.kv_heads or sizes.heads
    sizes.folder.mkdir(parents=True, exist_ok=True)
    with open(sizes.folder / "decoder.data", "wb") as data:
        net = Decoder(data, sizes)
        net.prepare(sizes.tokens, sizes.width)
        x = net.node("Gather", net.weight(sizes.words, sizes.width, spread=1), "ids")
        for number in range(sizes.layers):
            x = net.layer(x, sizes.width, sizes.inner, number)
        logits = net.linear(net.norm(x, sizes.width), sizes.width, sizes.words)
    tokens = "tokens" if sizes.cache else sizes.tokens
    names = ["ids", "position_ids"] if sizes.cache else ["ids"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, tokens]) for name in names]
    output = helper.make_tensor_value_info(logits, TensorProto.FLOAT, [1, tokens, sizes.words])
    graph = helper.make_graph(net.nodes, "decoder", inputs + net.inputs, [output] + net.outputs, net.tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="decoder_network")
    onnx.save(model, sizes.folder / "decoder.onnx")
    print(f"{net.offset / (4e9 if sizes.float else 2e9):.2f} billion parameters")


if __name__ == "__main__":
    main()
