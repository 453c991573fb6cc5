"""Faults in what a node is told."""
import numpy

from .net import attribute, replace_op, set_attribute


def resize_coordinates(net, rng):
    places = net.nodes("Resize")
    if not places:
        return None
    node = rng.choice(places)
    mode = attribute(node, "coordinate_transformation_mode", b"half_pixel").decode()
    others = [other for other in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel") if other != mode]
    other = rng.choice(others)
    set_attribute(node, "coordinate_transformation_mode", other)
    return (node.output[0],), f"{mode} becomes {other}"


def nearest_resize(net, rng):
    places = [node for node in net.nodes("Resize") if attribute(node, "mode", b"nearest") == b"linear"]
    if not places:
        return None
    node = rng.choice(places)
    set_attribute(node, "mode", "nearest")
    return (node.output[0],), "linear becomes nearest"


def shifted_padding(net, rng):
    """The same size of results from pads at the other side."""
    places = []
    for node in net.nodes("Conv", "MaxPool"):
        pads = attribute(node, "pads", [])
        if len(pads) == 4 and pads[0] == pads[2] > 0 and pads[1] == pads[3]:
            places.append(node)
    if not places:
        return None
    node = rng.choice(places)
    top, left, bottom, right = attribute(node, "pads")
    if node.op_type == "MaxPool" or rng.random() < 0.5:
        pads, words = [top + bottom, left, 0, right], "rows of padding moved to the top"
    else:
        pads, words = [top, 0, bottom, left + right], "columns of padding moved to the right"
    if node.op_type == "MaxPool":  # pads of a pool must be below its kernel
        pads, words = [top + 1, left, bottom - 1, right], "a row of padding moved to the top"
    set_attribute(node, "pads", pads)
    return (node.output[0],), words


def dilated(net, rng):
    places = [node for node in net.nodes("Conv") if attribute(node, "pads", []) == [1, 1, 1, 1] and
              attribute(node, "kernel_shape", []) == [3, 3] and attribute(node, "dilations", [1, 1]) == [1, 1]]
    if not places:
        return None
    node = rng.choice(places)
    set_attribute(node, "dilations", [2, 2])
    set_attribute(node, "pads", [2, 2, 2, 2])
    return (node.output[0],), "dilation 1 becomes 2, padding follows"


def swapped_axis(net, rng):
    """Softmax and means over another axis, inputs of Concat in another order, axes of Transpose exchanged where sizes allow."""
    places = [(node, "softmax") for node in net.nodes("Softmax") if _is_square(net, node.input[0])]
    places += [(node, "concat") for node in net.nodes("Concat") if net.is_float(node.output[0]) and len(node.input) > 1]
    places += [(node, "transpose") for node in net.nodes("Transpose") if net.is_float(node.output[0])]
    places += [(node, "image") for node in net.nodes("Conv") if node.input[0] in net.values and _is_square(net, node.input[0]) and
               net.values[node.input[0]].shape[-1] > 1]
    if not places:
        return None
    node, what = rng.choice(places)
    if what == "softmax":
        set_attribute(node, "axis", -2)
        return (node.output[0],), "axis -1 becomes -2"
    if what == "concat":
        inputs = list(node.input)
        del node.input[:]
        node.input.extend(reversed(inputs))
        return (node.output[0],), "inputs in reverse order"
    name = node.output[0]
    if what == "transpose":
        order = list(range(net.values[name].ndim))
        order[-1], order[-2] = order[-2], order[-1]
        if _is_square(net, name):
            net.after(node, "Transpose", perm=order)
            return (name,), "last two axes exchanged"
        perm = list(attribute(node, "perm"))
        perm[-1], perm[-2] = perm[-2], perm[-1]
        shape = net.constant(numpy.array(net.values[name].shape, numpy.int64))
        set_attribute(node, "perm", perm)
        net.after(node, "Reshape", shape)
        return (name,), f"perm becomes {perm}, reshaped"
    net.before(node, 0, "Transpose", perm=[0, 1, 3, 2])
    return (name,), "reads the picture with rows for columns"


def _is_square(net, name):
    shape = net.values[name].shape
    return len(shape) > 1 and shape[-1] == shape[-2]


def average_pool(net, rng):
    places = [node for node in net.nodes("MaxPool") if net.is_float(node.output[0])]
    if not places:
        return None
    node = rng.choice(places)
    kept = {name: attribute(node, name) for name in ("kernel_shape", "strides", "pads", "ceil_mode") if attribute(node, name) is not None}
    if net.opset < 10:
        kept.pop("ceil_mode", None)
    replace_op(node, "AveragePool", **kept)
    return (node.output[0],), "MaxPool becomes AveragePool"


KINDS = {
    "a swapped axis": swapped_axis,
    "dilation with padding to match": dilated,
    "maximum pooled as average": average_pool,
    "nearest for linear": nearest_resize,
    "other coordinates of Resize": resize_coordinates,
    "padding at another side": shifted_padding,
}
