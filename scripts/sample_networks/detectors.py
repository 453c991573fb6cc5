"""Detectors: outputs whose sizes depend on data, and rows that rounding exchanges."""
import numpy

from .network import FLOAT, INT64, Network

CLASSES, SIZE, CELLS = 3, 64, 64  # 8 x 8 cells, three boxes in each


def _anchors(boxes=3):
    """Corners of boxes around each cell's centre."""
    centres = (numpy.arange(8) + 0.5) * 8
    rows = [(x, y, 10.0 + 8 * k) for y in centres for x in centres for k in range(boxes)]
    return numpy.array([[x - w / 2, y - w / 2, x + w / 2, y + w / 2] for x, y, w in rows], numpy.float32)


def _per_box(net, x, width, spread):
    """[1, n, width] from a head over the cells, n = 192 boxes."""
    head = net.biased_conv(x, 32, 3 * width, 3, spread=spread)
    return net.node("Reshape", [net.node("Transpose", [head], perm=[0, 2, 3, 1]), net.integers(1, -1, width)])


def _boxes_and_scores(name, seed):
    """A trunk with boxes [1, n, 4] and scores [1, classes, n]."""
    net = Network(name, [1, 3, SIZE, SIZE], seed)
    x = net.features("x")
    moved = net.node("Mul", [_per_box(net, x, 4, 0.05), net.real(4)])
    boxes = net.node("Add", [moved, net.constant(_anchors()[None])])
    scores = net.node("Transpose", [net.node("Sigmoid", [_per_box(net, x, CLASSES, 0.08)])], perm=[0, 2, 1])
    return net, boxes, scores


def _selected(net, boxes, scores, most=20, least=0.6):
    """Indices [k, 3] of NonMaxSuppression, and the boxes and scores that they name."""
    found = net.node("NonMaxSuppression", [boxes, scores, net.integers(most), net.constant(numpy.float32([0.45])), net.constant(numpy.float32([least]))])
    labels = net.node("Gather", [found, net.constant(numpy.int64(1))], axis=1)
    places = net.node("Gather", [found, net.constant(numpy.int64(2))], axis=1)
    kept = net.node("Gather", [net.node("Squeeze", [boxes, net.integers(0)]), places], axis=0)
    return found, labels, kept, net.node("GatherND", [scores, found])


def nms():
    net, boxes, scores = _boxes_and_scores("nms", 11)
    _, labels, kept, best = _selected(net, boxes, scores)
    return net.finished({kept: (FLOAT, ["k", 4]), best: (FLOAT, ["k"]), labels: (INT64, ["k"])})


def padded_nms():
    """As many rows for each picture, zeros behind the last."""
    net, boxes, scores = _boxes_and_scores("padded_nms", 12)
    _, labels, kept, best = _selected(net, boxes, scores)
    columns = [kept, net.node("Unsqueeze", [best, net.integers(1)]),
               net.node("Unsqueeze", [net.node("Cast", [labels], to=FLOAT), net.integers(1)])]
    rows = net.node("Concat", [net.node("Concat", columns, axis=1), net.constant(numpy.zeros((60, 6), numpy.float32))], axis=0)
    rows = net.node("Slice", [rows, net.integers(0), net.integers(60), net.integers(0)])
    return net.finished({rows: (FLOAT, [60, 6])})


def top_rows():
    """The best by TopK, in order."""
    net, boxes, scores = _boxes_and_scores("top_rows", 13)
    best = net.node("ReduceMax", [net.node("Squeeze", [scores, net.integers(0)])], axes=[0], keepdims=0)
    values, places = net.several("TopK", [best, net.integers(30)], 2)
    kept = net.node("Gather", [net.node("Squeeze", [boxes, net.integers(0)]), places], axis=0)
    return net.finished({kept: (FLOAT, [30, 4]), values: (FLOAT, [30]), places: (INT64, [30])})


def above_threshold():
    """Rows above a threshold by NonZero."""
    net, boxes, scores = _boxes_and_scores("above_threshold", 14)
    best = net.node("ReduceMax", [net.node("Squeeze", [scores, net.integers(0)])], axes=[0], keepdims=0)
    places = net.node("Squeeze", [net.node("NonZero", [net.node("Greater", [best, net.real(0.7)])]), net.integers(0)])
    kept = net.node("Gather", [net.node("Squeeze", [boxes, net.integers(0)]), places], axis=0)
    return net.finished({kept: (FLOAT, ["k", 4]), net.node("Gather", [best, places], axis=0): (FLOAT, ["k"])})


def raw_rows():
    """[1, n, 9]: box, objectness and classes, as YOLO gives them before any choice."""
    net = Network("raw_rows", [1, 3, SIZE, SIZE], 15)
    x = net.features("x")
    head = _per_box(net, x, 9, 0.08)
    moved, rest = net.several("Split", [head, net.integers(4, 5)], 2, axis=2)
    boxes = net.node("Add", [net.node("Mul", [moved, net.real(4)]), net.constant(_anchors()[None])])
    return net.finished({net.node("Concat", [boxes, net.node("Sigmoid", [rest])], axis=2): (FLOAT, [1, 192, 9])})


def two_stages():
    """Regions by NonMaxSuppression, then classes of what RoiAlign cuts out of the features."""
    net, boxes, scores = _boxes_and_scores("two_stages", 16)
    trunk = next(node.output[0] for node in reversed(net.nodes) if node.op_type == "Relu")
    best = net.node("ReduceMax", [scores], axes=[1], keepdims=1)
    _, _, kept, _ = _selected(net, boxes, best, most=12, least=0.5)
    batch = net.node("ConstantOfShape", [net.node("Slice", [net.node("Shape", [kept]), net.integers(0), net.integers(1)])],
                     value=_zero())
    cut = net.node("RoiAlign", [trunk, kept, batch], output_height=4, output_width=4, spatial_scale=0.125, sampling_ratio=2)
    flat = net.node("Flatten", [cut])
    logits = net.linear(net.relu(net.linear(flat, 32 * 16, 32)), 32, CLASSES + 1)
    return net.finished({kept: (FLOAT, ["k", 4]), net.node("Softmax", [logits], axis=1): (FLOAT, ["k", CLASSES + 1])})


def _zero():
    from onnx import numpy_helper
    return numpy_helper.from_array(numpy.zeros(1, numpy.int64))


NETWORKS = {make.__name__: make for make in (nms, padded_nms, top_rows, above_threshold, raw_rows, two_stages)}
