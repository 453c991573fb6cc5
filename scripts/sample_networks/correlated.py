"""Outputs whose elements inherit the error of few numbers."""
from .network import FLOAT, Network


def _normalized(net, x, axes, epsilon=1e-5):
    """(x - mean) / sqrt(variance + epsilon) by primitives, as exporters write normalizations."""
    centred = net.node("Sub", [x, net.node("ReduceMean", [x], axes=axes, keepdims=1)])
    variance = net.node("ReduceMean", [net.node("Mul", [centred, centred])], axes=axes, keepdims=1)
    return net.node("Div", [centred, net.node("Sqrt", [net.node("Add", [variance, net.real(epsilon)])])])


def _group_norm(name, groups, channels=24, size=16):
    net = Network(name, [1, 3, size, size], seed=groups)
    x = net.biased_conv("x", 3, channels, 3)
    x = net.node("Reshape", [x, net.integers(1, groups, -1)])
    x = net.node("Reshape", [_normalized(net, x, [2]), net.integers(1, channels, size, size)])
    x = net.node("Add", [net.node("Mul", [x, net.positive(1, channels, 1, 1)]), net.weight(1, channels, 1, 1)])
    return net.finished({x: (FLOAT, [1, channels, size, size])})


def group_norm():
    return _group_norm("group_norm", 4)


def one_group():
    """5,760 outputs, and two means that all of them are made from."""
    return _group_norm("one_group", 1, channels=10, size=24)


def instance_norm():
    net = Network("instance_norm", [1, 3, 32, 32], seed=5)
    x = net.relu(_normalized(net, net.biased_conv("x", 3, 8, 3), [2, 3]))
    x = _normalized(net, net.biased_conv(x, 8, 8, 3), [2, 3])
    return net.finished({x: (FLOAT, [1, 8, 32, 32])})


def layer_norm():
    net = Network("layer_norm", [1, 12, 64], seed=6)
    x = "x"
    for _ in range(2):
        x = _normalized(net, net.node("Add", [x, net.linear(net.relu(net.linear(x, 64, 128)), 128, 64)]), [-1])
    return net.finished({x: (FLOAT, [1, 12, 64])})


def one_gain():
    """A picture times one number that a network makes from it, and over its own norm."""
    net = Network("one_gain", [1, 3, 24, 24], seed=7)
    gain = net.node("Sigmoid", [net.classify(net.features("x"), 32, 1)])
    x = net.node("Mul", [net.biased_conv("x", 3, 8, 3), net.node("Reshape", [gain, net.integers(1, 1, 1, 1)])])
    x = net.node("Div", [x, net.node("ReduceL2", [x], axes=[1, 2, 3], keepdims=1)])
    return net.finished({x: (FLOAT, [1, 8, 24, 24])})


def softmax_over_all():
    net = Network("softmax_over_all", [1, 3, 24, 24], seed=8)
    scores = net.node("Reshape", [net.biased_conv(net.relu(net.biased_conv("x", 3, 16, 3)), 16, 1, 1), net.integers(1, -1)])
    return net.finished({net.node("Softmax", [scores], axis=1): (FLOAT, [1, 576])})


NETWORKS = {make.__name__: make for make in (group_norm, one_group, instance_norm, layer_norm, one_gain, softmax_over_all)}
