"""Faults in what detectors choose boxes by."""
import numpy

from .net import attribute, set_attribute


def _numbers(net, op, index):
    """Nodes of an operator with a single number as that input."""
    return [node for node in net.nodes(op) if len(node.input) > index and node.input[index] in net.constants and net.constants[node.input[index]].size == 1]


def _other_number(net, rng, op, index, change, words):
    places = _numbers(net, op, index)
    if not places:
        return None
    node = rng.choice(places)
    old = net.constants[node.input[index]]
    new = numpy.array(change(old), old.dtype).reshape(old.shape)
    if (new == old).all():
        return None
    net.give(node, index, new)
    return tuple(node.output), f"{words} {old.item():g} becomes {new.item():g}"


def overlap(net, rng):
    return _other_number(net, rng, "NonMaxSuppression", 3, lambda x: x / 2, "greatest overlap")


def least_score(net, rng):
    return _other_number(net, rng, "NonMaxSuppression", 4, lambda x: x * 1.2, "least score")


def fewer_boxes(net, rng):
    return _other_number(net, rng, "NonMaxSuppression", 2, lambda x: numpy.maximum(1, x // 4), "most boxes")


def fewer_rows(net, rng):
    return _other_number(net, rng, "TopK", 1, lambda x: numpy.maximum(1, x - 1), "number of rows")


def threshold(net, rng):
    return _other_number(net, rng, "Greater", 1, lambda x: x * 1.1, "threshold")


def centres(net, rng):
    places = net.nodes("NonMaxSuppression")
    if not places:
        return None
    node = rng.choice(places)
    other = 1 - attribute(node, "center_point_box", 0)
    set_attribute(node, "center_point_box", other)
    return tuple(node.output), f"center_point_box becomes {other}"


def regions(net, rng):
    places = net.nodes("RoiAlign")
    if not places:
        return None
    node = rng.choice(places)
    if rng.random() < 0.5:
        set_attribute(node, "spatial_scale", attribute(node, "spatial_scale", 1.0) * 1.05)
        return tuple(node.output), "spatial_scale x 1.05"
    old = attribute(node, "coordinate_transformation_mode", b"half_pixel").decode()
    new = "output_half_pixel" if old == "half_pixel" else "half_pixel"
    set_attribute(node, "coordinate_transformation_mode", new)
    return tuple(node.output), f"{old} becomes {new}"


def _boxes(net):
    """Values whose rows are boxes, and the nodes that make them."""
    return [node for node in net.graph.node if node.op_type in ("Add", "Gather", "Concat", "Sub") and node.output[0] in net.values and
            net.is_float(node.output[0]) and net.values[node.output[0]].ndim > 1 and net.values[node.output[0]].shape[-1] == 4 and
            net.values[node.output[0]].size > 16]


def scaled_boxes(net, rng):
    places = _boxes(net)
    if not places:
        return None
    node, factor = rng.choice(places), rng.choice([1.01, 100])
    name = node.output[0]
    net.after(node, "Mul", net.constant(numpy.float32(factor)))
    return (name,), f"boxes x {factor}"


def shifted_box(net, rng):
    """One coordinate is half a pixel off, as with another centre of pixels."""
    places = _boxes(net)
    if not places:
        return None
    node = rng.choice(places)
    name = node.output[0]
    offset = numpy.zeros(4, numpy.float32)
    offset[rng.randrange(4)] = 0.5
    net.after(node, "Add", net.constant(offset))
    return (name,), f"boxes + {offset.tolist()}"


def exchanged_coordinates(net, rng):
    places = [node for node in _boxes(net) if net.opset >= 11]
    if not places:
        return None
    node = rng.choice(places)
    name = node.output[0]
    net.after(node, "Gather", net.constant(numpy.array([1, 0, 3, 2])), axis=net.values[name].ndim - 1)
    return (name,), "x and y of boxes exchanged"


KINDS = {
    "another centre of pixels": shifted_box,
    "another form of boxes": centres,
    "another region": regions,
    "boxes scaled": scaled_boxes,
    "fewer boxes": fewer_boxes,
    "fewer rows": fewer_rows,
    "x and y exchanged": exchanged_coordinates,
    "the least score of boxes": least_score,
    "the overlap of boxes": overlap,
    "the threshold of a choice": threshold,
}
