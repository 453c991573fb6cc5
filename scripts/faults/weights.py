"""Faults in the numbers that a network has learned or was given."""
import numpy
from onnx import helper, numpy_helper

from .net import attribute, set_attribute

LAYERS = ("Conv", "Gemm", "MatMul")


def all_scaled(net, rng):
    places = net.weights(*LAYERS)
    if not places:
        return None
    node, i, array = rng.choice(places)
    net.give(node, i, array * numpy.float32(1.01))
    return (node.output[0],), "all weights x 1.01"


def _one(net, rng, change, words):
    places = net.weights(*LAYERS)
    if not places:
        return None
    node, i, array = rng.choice(places)
    array = array.copy()
    at = rng.randrange(array.size)
    array.flat[at] = change(array.flat[at])
    net.give(node, i, array)
    return (node.output[0],), f"weight {at} {words}"


def one_scaled(net, rng):
    return _one(net, rng, lambda x: x * numpy.float32(1.01), "x 1.01")


def last_bit(net, rng):
    return _one(net, rng, lambda x: numpy.nextafter(x, numpy.float32(numpy.inf)), "moved by its last bit")


def mirrored_kernel(net, rng):
    places = [place for place in net.weights("Conv") if place[2].shape[2:] == (3, 3)]
    if not places:
        return None
    node, i, array = rng.choice(places)
    array = array.copy()
    to, of = rng.randrange(array.shape[0]), rng.randrange(array.shape[1])
    array[to, of] = array[to, of, :, ::-1]
    net.give(node, i, array)
    return (node.output[0],), f"kernel {to}, {of} mirrored"


def swapped_channels(net, rng):
    places = [place for place in net.weights(*LAYERS) if place[2].shape[0] > 1]
    if not places:
        return None
    node, i, array = rng.choice(places)
    order = list(range(array.shape[0]))
    a, b = rng.sample(order, 2)
    order[a], order[b] = b, a
    net.give(node, i, array[order])
    return (node.output[0],), f"channels {a} and {b} of the weights exchanged"


def dropped_bias(net, rng):
    places = [(node, 2) for node in net.nodes("Conv", "Gemm") if len(node.input) > 2 and node.input[2]]
    places += [(node, i) for node in net.nodes("Add") for i, name in enumerate(node.input) if net.is_weight(name) and net.constants[name].ndim == 1]
    places += [(node, 2) for node in net.nodes("BatchNormalization", "LayerNormalization") if len(node.input) > 2]
    places = [(node, i) for node, i in places if net.is_weight(node.input[i])]
    if not places:
        return None
    node, i = rng.choice(places)
    net.give(node, i, numpy.zeros_like(net.constants[node.input[i]]))
    return (node.output[0],), "bias dropped"


def epsilon(net, rng):
    to = rng.choice([1e-3, 1e-4])
    norms = net.nodes("BatchNormalization", "InstanceNormalization", "LayerNormalization")
    adds = [(node, i) for node in net.nodes("Add") for i, name in enumerate(node.input)
            if net.is_weight(name) and net.constants[name].size == 1 and 0 < net.constants[name].max() < 1e-4]
    if norms:
        node = rng.choice(norms)
        words = f"epsilon {attribute(node, 'epsilon', 1e-5):.0e} becomes {to:.0e}"
        set_attribute(node, "epsilon", to)
    elif adds:
        node, i = rng.choice(adds)
        words = f"epsilon {net.constants[node.input[i]].item():.0e} becomes {to:.0e}"
        net.give(node, i, numpy.full_like(net.constants[node.input[i]], to))
    else:
        return None
    return (node.output[0],), words


def wrong_constant(net, rng):
    """A single number that a node reads, or one that a Constant gives."""
    owners = [node for node in net.nodes("Constant") if net.is_weight(node.output[0]) and net.constants[node.output[0]].size and
              1e-6 < abs(net.constants[node.output[0]]).max() < 1e6]
    owners = [node for node in owners if not any(node.output[0] in other.input for other in net.nodes("Resize"))]
    scales = [(node, 1) for node in net.nodes("BatchNormalization")]
    if owners:
        node = rng.choice(owners)
        name = node.output[0]
        array = net.constants[name] * numpy.float32(1.05)
        where = net.at(node)
        del net.graph.node[where]
        net.graph.node.insert(where, helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        readers = tuple(output for reader in net.graph.node if name in reader.input for output in reader.output)
        return readers, f"constant {net.constants[name].flat[0]:.6g} becomes {array.flat[0]:.6g}"
    if scales:
        node, i = rng.choice(scales)
        array = net.constants[node.input[i]].copy()
        at = rng.randrange(array.size)
        array[at] *= numpy.float32(1.05)
        net.give(node, i, array)
        return (node.output[0],), f"scale {at} x 1.05"
    return None


KINDS = {
    "a bias dropped": dropped_bias,
    "a constant off by 5 %": wrong_constant,
    "a weight moved by its last bit": last_bit,
    "a weight x 1.01": one_scaled,
    "all weights of a node x 1.01": all_scaled,
    "another epsilon": epsilon,
    "one 3x3 kernel mirrored": mirrored_kernel,
    "two channels of weights exchanged": swapped_channels,
}
