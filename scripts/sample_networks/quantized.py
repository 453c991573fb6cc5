"""Networks that onnxruntime.quantization made int8, with quantizers beside float operators (QDQ), with quantized operators (QOperator) and with ranges found
at run time (dynamic)."""
import functools
import logging
import pathlib
import tempfile

import numpy
import onnx

from .network import FLOAT, Network


def plain():
    """Convolutions, a maximum pool and a classifier."""
    net = Network("plain", [1, 3, 32, 32], 31)
    x = net.pool("MaxPool", net.relu(net.biased_conv("x", 3, 12, 3)), 2, 2)
    x = net.relu(net.biased_conv(x, 12, 24, 3))
    return net.finished({net.classify(x, 24, 10): (FLOAT, [1, 10])})


def residual():
    """Sums of branches and average pools."""
    net = Network("residual", [1, 3, 32, 32], 32)
    x = net.relu(net.biased_conv("x", 3, 16, 3))
    for _ in range(2):
        x = net.relu(net.node("Add", [x, net.biased_conv(net.relu(net.biased_conv(x, 16, 16, 3)), 16, 16, 3)]))
    x = net.pool("AveragePool", x, 2, 2)
    return net.finished({net.classify(x, 16, 10): (FLOAT, [1, 10])})


def separable():
    """Convolutions by channel, and a picture as the answer."""
    net = Network("separable", [1, 3, 24, 24], 33)
    x = net.relu(net.biased_conv("x", 3, 16, 3))
    x = net.relu(net.biased_conv(x, 16, 16, 3, group=16))
    x = net.relu(net.biased_conv(x, 16, 24, 1))
    return net.finished({net.biased_conv(x, 24, 4, 1): (FLOAT, [1, 4, 24, 24])})


def layers():
    """A perceptron over a free batch."""
    net = Network("layers", ["n", 32], 34)
    x = "x"
    for inputs, outputs in ((32, 64), (64, 64)):
        x = net.relu(net.linear(x, inputs, outputs))
    return net.finished({net.linear(x, 64, 10): (FLOAT, ["n", 10])})


class _Samples:
    """What onnxruntime.quantization finds the ranges by."""

    def __init__(self, model):
        from . import draw
        drawn = draw(model, numpy.random.default_rng(9), 16)
        self.sets = iter([{name: array[i] for name, array in drawn.items()} for i in range(16)])

    def get_next(self):
        return next(self.sets, None)


def _static(make, form, **options):
    from onnxruntime import quantization
    logging.getLogger().setLevel(logging.ERROR)
    model = make()
    with tempfile.TemporaryDirectory() as folder:
        source, to = pathlib.Path(folder) / "float.onnx", pathlib.Path(folder) / "int8.onnx"
        onnx.save(model, source)
        quantization.quantize_static(source, to, _Samples(model), quant_format=getattr(quantization.QuantFormat, form),
                                     **{name: getattr(quantization.QuantType, value) if name.endswith("_type") else value for name, value in options.items()})
        return onnx.load(to)


def _dynamic(make):
    from onnxruntime import quantization
    logging.getLogger().setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        source, to = pathlib.Path(folder) / "float.onnx", pathlib.Path(folder) / "int8.onnx"
        onnx.save(make(), source)
        quantization.quantize_dynamic(source, to)
        return onnx.load(to)


NETWORKS = {f"{make.__name__}_qdq": functools.partial(_static, make, "QDQ", activation_type="QUInt8", weight_type="QInt8") for make in
            (plain, residual, separable, layers)}
NETWORKS |= {f"{make.__name__}_qoperator": functools.partial(_static, make, "QOperator", activation_type="QUInt8", weight_type="QUInt8") for make in
             (plain, residual, separable, layers)}
NETWORKS |= {f"{make.__name__}_qdq_by_channel": functools.partial(_static, make, "QDQ", activation_type="QInt8", weight_type="QInt8", per_channel=True)
             for make in (plain, residual, separable)}
NETWORKS["layers_dynamic"] = functools.partial(_dynamic, layers)
