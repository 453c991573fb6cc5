"""Faults of one node or weight each, as broken converters make them, for scripts/noise_floor.

    planted_faults.py MODEL FOLDER SEED [KIND...]    writes FOLDER/KIND.onnx for each kind that the model has a place for, all of them by default, and
                                                     prints KIND and the place
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Graph:
    def __init__(self, model, seed):
        self.model, self.graph = model, model.graph
        self.weights = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:  # exporters keep small numbers in nodes
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self.weights[node.output[0]] = node.attribute[0].t
        self.random = np.random.default_rng(seed)

    def pick(self, *ops, where=lambda node: True):
        nodes = [node for node in self.graph.node if node.op_type in ops and where(node)]
        return nodes[self.random.integers(len(nodes))] if nodes else None

    def weight_of(self, node, place=1):
        """A weight of full precision; None where it is computed."""
        tensor = self.weights.get(node.input[place]) if len(node.input) > place else None
        return tensor if tensor is not None and tensor.data_type == onnx.TensorProto.FLOAT else None

    def change(self, tensor, function):
        array = numpy_helper.to_array(tensor).copy()
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(function(array), array.dtype), tensor.name))

    def after(self, node, ops):
        """Puts a chain of operators behind the first output of a node."""
        name, inner = node.output[0], node.output[0] + "_before"
        node.output[0] = inner
        at = list(self.graph.node).index(node) + 1
        for i, (op, more, attributes) in enumerate(ops):
            out = name if i == len(ops) - 1 else f"{name}_{i}"
            extra = []
            for array in more:
                extra.append(f"{name}_extra_{i}_{len(extra)}")
                self.graph.initializer.append(numpy_helper.from_array(np.array(array, np.float32), extra[-1]))
            self.graph.node.insert(at + i, helper.make_node(op, [inner, *extra], [out], **attributes))
            inner = out


def attribute(node, name):
    return next((entry for entry in node.attribute if entry.name == name), None)


def with_weight(graph, *ops):
    return graph.pick(*ops, where=lambda node: graph.weight_of(node) is not None)


def change_weight(function):
    def plant(graph):
        node = with_weight(graph, "Conv", "Gemm", "MatMul")
        if node:
            graph.change(graph.weight_of(node), lambda array: function(graph, array))
        return node
    return plant


def one_percent(graph, array):
    return array * np.float32(1.01)


def one_channel(graph, array):
    array[graph.random.integers(len(array))] *= np.float32(1.01)
    return array


def through_float16(graph, array):
    return array.astype(np.float16)


def through_bfloat16(graph, array):
    return (array.view(np.uint32) + np.uint32(0x8000) & np.uint32(0xFFFF0000)).view(np.float32)


def mirrored_kernel(graph):
    node = graph.pick("Conv", where=lambda node: graph.weight_of(node) is not None and list(graph.weight_of(node).dims)[2:] == [3, 3])

    def mirror(array):
        at = graph.random.integers(array.shape[0]), graph.random.integers(array.shape[1])
        array[at] = array[at][:, ::-1].copy()
        return array
    if node:
        graph.change(graph.weight_of(node), mirror)
    return node


def dropped_bias(graph):
    node = graph.pick("Conv", "Gemm", where=lambda node: graph.weight_of(node, 2) is not None)
    if node:
        graph.change(graph.weight_of(node, 2), np.zeros_like)
    return node


def epsilon(graph):
    """Of a normalization with weights, 1e-3 where it was less."""
    node = graph.pick("BatchNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization")
    if node:
        kept = [entry for entry in node.attribute if entry.name != "epsilon"]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute("epsilon", 1e-3)])
    return node


def tanh_gelu(graph):
    """Erf(x / sqrt 2) replaced by the tanh that approximates it."""
    node = graph.pick("Erf")
    if node:
        # erf(z) with z = x / sqrt 2 becomes tanh(z (c1 + c2 z^2)), c1 = 2 / sqrt pi, c2 = 0.044715 * 2 * c1
        c1 = np.float32(2 / np.sqrt(np.pi))
        z, name = node.input[0], node.output[0]
        for label, value in (("c1", c1), ("c2", np.float32(0.044715 * 2) * c1)):
            graph.graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), f"{name}_{label}"))
        steps = [("Mul", [z, z]), ("Mul", [f"{name}_0", f"{name}_c2"]), ("Add", [f"{name}_1", f"{name}_c1"]), ("Mul", [f"{name}_2", z]), ("Tanh", [f"{name}_3"])]
        at = list(graph.graph.node).index(node)
        graph.graph.node.remove(node)
        for i, (op, inputs) in enumerate(steps):
            graph.graph.node.insert(at + i, helper.make_node(op, inputs, [name if i == len(steps) - 1 else f"{name}_{i}"]))
    return node


def asymmetric_resize(graph):
    node = graph.pick("Resize", where=lambda node: attribute(node, "mode") is not None and attribute(node, "mode").s == b"linear")
    if node:
        entry = attribute(node, "coordinate_transformation_mode")
        if entry is None:
            node.attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
        else:
            entry.s = b"half_pixel" if entry.s == b"asymmetric" else b"asymmetric"
    return node


def cast_through_float16(graph):
    node = graph.pick("Conv", "MatMul", "Gemm")
    if node:
        graph.after(node, [("Cast", [], {"to": 10}), ("Cast", [], {"to": 1})])
    return node


def swapped_axis(graph):
    node = graph.pick("Softmax")
    if node:
        entry = attribute(node, "axis")
        if entry is None:
            node.attribute.append(helper.make_attribute("axis", -2))
        else:
            entry.i -= 1
    return node


def clipped(graph):
    """At 3, which is rarely reached: a Clip where there was none."""
    node = graph.pick("Conv", "MatMul", "Gemm", "Add")
    if node and graph.model.opset_import[0].version >= 11:
        graph.after(node, [("Clip", [-3.0, 3.0], {})])
        return node
    return None


def shifted_pads(graph):
    node = graph.pick("Conv", where=lambda node: attribute(node, "pads") is not None and list(attribute(node, "pads").ints) == [1, 1, 1, 1])
    if node:
        attribute(node, "pads").ints[:] = [0, 0, 2, 2]
    return node


KINDS = {
    "weight x 1.01": change_weight(one_percent), "channel x 1.01": change_weight(one_channel), "weight in float16": change_weight(through_float16),
    "weight in bfloat16": change_weight(through_bfloat16), "mirrored kernel": mirrored_kernel, "dropped bias": dropped_bias, "epsilon 1e-3": epsilon,
    "tanh GELU": tanh_gelu, "asymmetric resize": asymmetric_resize, "cast through float16": cast_through_float16, "softmax axis": swapped_axis,
    "clipped at 3": clipped, "shifted padding": shifted_pads,
}


def main():
    path, folder, seed = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    for kind in sys.argv[4:] or KINDS:
        graph = Graph(onnx.load(path), seed)
        node = KINDS[kind](graph)
        if node is None:
            continue
        onnx.save(graph.model, folder / f"{kind.replace(' ', '_')}.onnx")
        print(f"{kind}\t{node.op_type} {node.name or node.output[0]}")


if __name__ == "__main__":
    main()
