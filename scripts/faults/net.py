"""A copy of a model that faults are planted in."""
import copy

import numpy
from onnx import helper, numpy_helper


class Net:
    def __init__(self, model, values):
        """values: what the sound model computes, by name."""
        self.model = copy.deepcopy(model)
        self.graph = self.model.graph
        self.values = values
        self.opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer}
        for node in self.nodes("Constant"):
            for attribute in node.attribute:
                if attribute.name == "value":
                    self.constants[node.output[0]] = numpy_helper.to_array(attribute.t)

    def nodes(self, *ops):
        return [node for node in self.graph.node if node.op_type in ops]

    def float_nodes(self):
        """Nodes that compute several real numbers from others."""
        return [node for node in self.graph.node
                if node.op_type not in ("Constant", "Cast") and self.is_float(node.output[0]) and self.values[node.output[0]].size > 1]

    def is_float(self, name):
        return name in self.values and self.values[name].dtype == numpy.float32

    def weights(self, *ops):
        """(node, index of the input, array) of inputs that are constant matrices or kernels."""
        return [(node, i, self.constants[name]) for node in self.nodes(*ops) for i, name in enumerate(node.input)
                if name in self.constants and self.constants[name].dtype == numpy.float32 and self.constants[name].ndim > 1]

    def is_weight(self, name):
        return name in self.constants and self.constants[name].dtype == numpy.float32

    def fresh(self, name):
        names = {n for node in self.graph.node for n in (*node.input, *node.output)} | {t.name for t in self.graph.initializer}
        while name in names:
            name += "_"
        return name

    def constant(self, array, name="planted"):
        name = self.fresh(name)
        self.graph.initializer.append(numpy_helper.from_array(numpy.array(array, order="C"), name))
        return name

    def give(self, node, index, array):
        """The node reads this array there; other readers keep theirs."""
        node.input[index] = self.constant(array)

    def at(self, node):
        return next(i for i, other in enumerate(self.graph.node) if other.output == node.output)

    def before(self, node, index, op, *others, **attributes):
        """Puts a node between an input of the node and the node."""
        name = self.fresh(f"planted_{op}")
        self.graph.node.insert(self.at(node), helper.make_node(op, [node.input[index], *others], [name], **attributes))
        self.graph.node[self.at(node)].input[index] = name

    def after(self, node, op, *others, **attributes):
        """Puts a node behind the node's first output: it takes that output's name."""
        name, where = node.output[0], self.at(node)
        raw = self.fresh(name + "_raw")
        self.graph.node[where].output[0] = raw
        self.graph.node.insert(where + 1, helper.make_node(op, [raw, *others], [name], **attributes))


def attribute(node, name, default=None):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def set_attribute(node, name, value):
    for i, a in enumerate(node.attribute):
        if a.name == name:
            del node.attribute[i]
            break
    node.attribute.append(helper.make_attribute(name, value))


def replace_op(node, op, **attributes):
    node.op_type = op
    del node.attribute[:]
    for name, value in attributes.items():
        node.attribute.append(helper.make_attribute(name, value))
