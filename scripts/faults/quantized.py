"""Faults in quantizers and in quantized weights."""
import numpy

OPERATORS = ("QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul", "QGemm", "QLinearAdd", "ConvInteger", "MatMulInteger")
INTEGERS = (numpy.dtype(numpy.int8), numpy.dtype(numpy.uint8))


def _first_values(net, node):
    """What a fault in the node may be called after: a node that only unpacks constants may be folded into its readers."""
    names = [node.output[0]]
    if node.op_type == "DequantizeLinear" and node.input[0] in net.constants:
        names += [reader.output[0] for reader in net.graph.node if node.output[0] in reader.input]
    return tuple(names)


def _constants(net, accept):
    return [(node, i, net.constants[name]) for node in net.nodes(*OPERATORS) for i, name in enumerate(node.input) if name in net.constants and accept(net.constants[name])]


def zero_point(net, rng):
    places = _constants(net, lambda array: array.dtype in INTEGERS and array.ndim == 0)
    if not places:
        return None
    node, i, array = rng.choice(places)
    least = numpy.iinfo(array.dtype).min
    moved = array.item() - 3 if array.item() - 3 >= least else array.item() + 3
    net.give(node, i, numpy.array(moved, array.dtype))
    return _first_values(net, node), f"zero point {array.item()} as {moved}"


def scale(net, rng):
    places = _constants(net, lambda array: array.dtype == numpy.float32 and array.ndim == 0)
    if not places:
        return None
    node, i, array = rng.choice(places)
    net.give(node, i, array * numpy.float32(1.1))
    return _first_values(net, node), "scale x 1.1"


def integer_weights(net, rng):
    places = _constants(net, lambda array: array.dtype in INTEGERS and array.ndim > 1)
    if not places:
        return None
    node, i, array = rng.choice(places)
    order = rng.sample(range(array.shape[0]), array.shape[0]) if array.shape[0] > 1 else [0]
    if order == sorted(order):
        return None
    net.give(node, i, array[order])
    return _first_values(net, node), "channels of integer weights mixed"


KINDS = {"a zero point off by three": zero_point, "a quantizer's scale x 1.1": scale, "integer weights mixed": integer_weights}
