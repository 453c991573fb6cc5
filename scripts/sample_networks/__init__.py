"""Small networks with random, seeded weights, of the kinds for which rounding is hardest to tell from errors. For scripts/noise_floor.

A module is a class of networks. Its NETWORKS names functions without arguments that make models; all of them are run on inputs of `draw`.
"""
import importlib
import pkgutil

import numpy


def classes():
    """Names of networks and the functions that make them, by class."""
    return {module.name: importlib.import_module(f"{__name__}.{module.name}").NETWORKS
            for module in pkgutil.iter_modules(__path__) if module.name != "network"}


def draw(model, random, count, batch=4):
    """`count` sets of inputs, one after the other along a new first axis, by name: of pictures and of rows of features."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = {}
    for info in model.graph.input:
        if info.name not in weights:
            shape = [dim.dim_value or batch for dim in info.type.tensor_type.shape.dim]
            inputs[info.name] = random.standard_normal((count, *shape)).astype(numpy.float32)
    return inputs
