"""What the adapter uses of TVM, on the onnx package: enough to see that it is used as documented."""
import numpy as np

from . import runtime
from .target import Target

__version__ = "0.27.fake"


def cpu():
    return "cpu"


def compile(module, target):
    assert isinstance(target, Target)
    return module


def get_global_func(name):
    assert name == "runtime.config_threadpool"

    def configure(mode, threads):
        assert mode == 1 and threads > 0

    return configure


class Tensor:
    def __init__(self, value):
        assert value.flags.writeable
        self.value = value

    def numpy(self):
        return np.asarray(self.value)
