"""Faults in tree ensembles."""
from .net import attribute, set_attribute

LEAVES = {"TreeEnsembleClassifier": "class_weights", "TreeEnsembleRegressor": "target_weights", "TreeEnsemble": "leaf_weights"}


def _changed(net, rng, name_of, change, words):
    trees = [node for node in net.nodes(*LEAVES) if isinstance(attribute(node, name_of(node)), list) and any(attribute(node, name_of(node)))]
    if not trees:
        return None
    node = rng.choice(trees)
    numbers = list(attribute(node, name_of(node)))
    at = rng.choice([i for i, number in enumerate(numbers) if number])
    numbers[at] = change(numbers[at])
    set_attribute(node, name_of(node), numbers)
    return tuple(node.output), f"{words} {at}"


def leaf(net, rng):
    return _changed(net, rng, lambda node: LEAVES[node.op_type], lambda x: x * 1.05, "leaf x 1.05:")


def leaves(net, rng):
    trees = [node for node in net.nodes(*LEAVES) if isinstance(attribute(node, LEAVES[node.op_type]), list)]
    if not trees:
        return None
    node = rng.choice(trees)
    set_attribute(node, LEAVES[node.op_type], [x * 1.001 for x in attribute(node, LEAVES[node.op_type])])
    return tuple(node.output), "all leaves x 1.001"


def threshold(net, rng):
    return _changed(net, rng, lambda node: "nodes_values", lambda x: x * 1.5, "threshold x 1.5:")


KINDS = {"a leaf of a tree": leaf, "all leaves x 1.001": leaves, "a threshold of a tree": threshold}
