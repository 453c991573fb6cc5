"""Faults in which nodes there are and what they read."""
import numpy
from onnx import TensorProto, helper

from .net import replace_op


def through_float16(net, rng):
    node = rng.choice(net.float_nodes())
    inputs = [i for i, name in enumerate(node.input) if net.is_float(name) and name not in net.constants]
    name = node.output[0]
    if inputs and rng.random() < 0.5:
        i = rng.choice(inputs)
        net.before(node, i, "Cast", to=TensorProto.FLOAT16)
        net.before(net.graph.node[net.at(node)], i, "Cast", to=TensorProto.FLOAT)
        return (name,), f"input {i} through float16"
    net.after(node, "Cast", to=TensorProto.FLOAT16)
    net.after(next(other for other in net.graph.node if other.output[0] == name), "Cast", to=TensorProto.FLOAT)
    return (name,), "result through float16"


def clipped(net, rng):
    places = [node for node in net.nodes("Relu", "Clip", "Tanh", "Erf", "Softmax", "Mul", "HardSwish") if net.is_float(node.output[0]) and
              net.values[node.output[0]].max() > 0]
    if not places:
        return None
    node = rng.choice(places)
    name = node.output[0]
    most = numpy.float32(round(float(net.values[name].max()) * 0.8, 4))
    net.after(node, "Min", net.constant(most))
    return (name,), f"clipped at {most:g}"


def leaky(net, rng):
    places = net.nodes("Relu")
    if not places:
        return None
    node = rng.choice(places)
    replace_op(node, "LeakyRelu", alpha=0.01)
    return (node.output[0],), "Relu becomes LeakyRelu 0.01"


def unlimited(net, rng):
    places = [node for node in net.nodes("Clip") if len(node.input) > 2]
    if not places:
        return None
    node = rng.choice(places)
    net.give(node, 2, numpy.float32(7))
    return (node.output[0],), "greatest number of Clip becomes 7"


def tanh_gelu(net, rng):
    """0.5 x (1 + erf(x / sqrt 2)) in its usual five nodes becomes 0.5 x (1 + tanh(0.79788456 (x + 0.044715 x^3)))."""
    readers = {}
    for node in net.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    writers = {node.output[0]: node for node in net.graph.node}
    places = []
    for erf in net.nodes("Erf"):
        scaled = writers.get(erf.input[0])
        add = readers[erf.output[0]][0]
        mul = readers[add.output[0]][0]
        half = readers[mul.output[0]][0]
        if scaled is not None and (add.op_type, mul.op_type, half.op_type) == ("Add", "Mul", "Mul"):
            places.append((scaled.input[0], scaled, erf, add, mul, half))
    if not places:
        return None
    x, *nodes = rng.choice(places)
    result = nodes[-1].output[0]
    where = net.at(nodes[0])
    for node in nodes:
        del net.graph.node[net.at(node)]
    parts = [net.fresh(f"planted_{i}") for i in range(8)]
    number = {n: net.constant(numpy.float32(n), f"planted_{n}") for n in (0.044715, 0.7978846, 1.0, 0.5)}
    steps = [("Mul", x, x), ("Mul", parts[0], x), ("Mul", parts[1], number[0.044715]), ("Add", x, parts[2]), ("Mul", parts[3], number[0.7978846]),
             ("Tanh", parts[4]), ("Add", parts[5], number[1.0]), ("Mul", parts[6], x), ("Mul", parts[7], number[0.5])]
    for i, (op, *inputs) in enumerate(steps):
        net.graph.node.insert(where + i, helper.make_node(op, inputs, [result if i == 8 else parts[i]]))
    return (result,), "GELU by tanh"


def swapped_operands(net, rng):
    places = net.nodes("Sub", "Div")
    if not places:
        return None
    node = rng.choice(places)
    a, b = node.input
    node.input[0], node.input[1] = b, a
    return (node.output[0],), "operands exchanged"


def wrong_branch(net, rng):
    """A sum of two branches that reads one of them twice."""
    places = [node for node in net.nodes("Add") if all(name in net.values and name not in net.constants for name in node.input) and
              net.is_float(node.output[0]) and net.values[node.input[0]].shape == net.values[node.input[1]].shape]
    if not places:
        return None
    node = rng.choice(places)
    i = rng.randrange(2)
    node.input[i] = node.input[1 - i]
    return (node.output[0],), f"input {i} is the other one"


def another_index(net, rng):
    places = [node for node in net.nodes("Gather") if net.is_float(node.output[0]) and node.input[1] in net.constants and
              net.constants[node.input[1]].size == 1]
    if not places:
        return None
    node = rng.choice(places)
    net.give(node, 1, net.constants[node.input[1]] + 1)
    return (node.output[0],), "index one further"


KINDS = {
    "GELU by tanh": tanh_gelu,
    "a clipped activation": clipped,
    "a wrong branch": wrong_branch,
    "another index": another_index,
    "another limit of Clip": unlimited,
    "leaky activation": leaky,
    "operands exchanged": swapped_operands,
    "through float16": through_float16,
}
