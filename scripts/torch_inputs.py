"""Random inputs of the programs of torch_cases.py and the files beside it."""
import torch


def real(*shape):
    return torch.randn(shape)


def positive(*shape):
    return torch.rand(shape) + 0.5


def whole(*shape, low=-9, high=10):
    return torch.randint(low, high, shape)
