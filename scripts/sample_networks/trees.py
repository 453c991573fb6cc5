"""Forests, boosted trees and nearest neighbours: answers that jump."""
import numpy

from .network import FLOAT, INT64, Network

FEATURES, DEPTH = 8, 4
ML = (("", 17), ("ai.onnx.ml", 3))


def _splits(random, trees):
    """Attributes of complete trees of DEPTH, nodes in breadth-first order."""
    inner = 2**DEPTH - 1
    all_nodes = 2 * inner + 1
    numbers = numpy.arange(all_nodes)
    is_leaf = numbers >= inner
    one = {"nodes_nodeids": numbers, "nodes_modes": ["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf],
           "nodes_truenodeids": numpy.where(is_leaf, 0, 2 * numbers + 1), "nodes_falsenodeids": numpy.where(is_leaf, 0, 2 * numbers + 2)}
    every = {name: list(values) * trees for name, values in one.items()}
    every["nodes_treeids"] = numpy.repeat(numpy.arange(trees), all_nodes)
    every["nodes_featureids"] = random.integers(0, FEATURES, trees * all_nodes)
    every["nodes_values"] = random.normal(0, 0.8, trees * all_nodes).astype(numpy.float32)
    leaves = numpy.arange(inner, all_nodes)
    return every, numpy.repeat(numpy.arange(trees), len(leaves)), numpy.tile(leaves, trees)


def _plain(attributes):
    return {name: values if isinstance(values, list) and isinstance(values[0], str) else numpy.asarray(values).tolist() for name, values in attributes.items()}


def _regressor(net, x, trees, **more):
    attributes, in_trees, leaves = _splits(net.random, trees)
    attributes.update(target_treeids=in_trees, target_nodeids=leaves, target_ids=0 * leaves,
                      target_weights=net.random.normal(0, 1, len(leaves)).astype(numpy.float32))
    return net.node("TreeEnsembleRegressor", [x], domain="ai.onnx.ml", n_targets=1, **_plain(attributes), **more)


def forest():
    net = Network("forest", ["n", FEATURES], 21)
    return net.finished({_regressor(net, "x", 40, aggregate_function="AVERAGE"): (FLOAT, ["n", 1])}, ML)


def boosted():
    """Trees behind a linear layer, so that what they compare has rounding."""
    net = Network("boosted", ["n", FEATURES], 22)
    return net.finished({_regressor(net, net.linear("x", FEATURES, FEATURES), 100, post_transform="NONE"): (FLOAT, ["n", 1])}, ML)


def classifier():
    net = Network("classifier", ["n", FEATURES], 23)
    attributes, in_trees, leaves = _splits(net.random, 30)
    attributes.update(class_treeids=in_trees, class_nodeids=leaves, class_ids=net.random.integers(0, 3, len(leaves)),
                      class_weights=net.random.uniform(0, 0.1, len(leaves)).astype(numpy.float32))
    labels, scores = net.several("TreeEnsembleClassifier", ["x"], 2, domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2], post_transform="SOFTMAX",
                                 **_plain(attributes))
    return net.finished({labels: (INT64, ["n"]), scores: (FLOAT, ["n", 3])}, ML)


def _neighbours(net, distances, count, classes=3):
    """Indices and distances of the nearest, and how many of them have each class."""
    near, places = net.several("TopK", [distances, net.integers(5)], 2, axis=1, largest=0)
    votes = net.constant(numpy.eye(classes, dtype=numpy.float32)[net.random.integers(0, classes, count)])
    shares = net.node("ReduceMean", [net.node("Gather", [votes, places], axis=0)], axes=[1], keepdims=0)
    return {near: (FLOAT, ["n", 5]), places: (INT64, ["n", 5]), shares: (FLOAT, ["n", classes]),
            net.node("ArgMax", [shares], axis=1, keepdims=0): (INT64, ["n"])}


def neighbours_by_product():
    """Squared distances as x² - 2xy + y², which cancels."""
    net = Network("neighbours_by_product", ["n", FEATURES], 24)
    points = net.random.standard_normal((60, FEATURES)).astype(numpy.float32)
    products = net.node("MatMul", ["x", net.constant(-2 * points.T.copy())])
    squares = net.node("ReduceSumSquare", ["x"], axes=[1], keepdims=1)
    distances = net.node("Add", [net.node("Add", [products, squares]), net.constant((points**2).sum(1))])
    return net.finished(_neighbours(net, distances, 60))


def neighbours_by_difference():
    net = Network("neighbours_by_difference", ["n", FEATURES], 25)
    points = net.weight(1, 60, FEATURES)
    apart = net.node("Sub", [net.node("Unsqueeze", ["x", net.integers(1)]), points])
    return net.finished(_neighbours(net, net.node("ReduceL2", [apart], axes=[2], keepdims=0), 60))


NETWORKS = {make.__name__: make for make in (forest, boosted, classifier, neighbours_by_product, neighbours_by_difference)}
