"""onnxkit for Python: check, convert, compare and run ONNX models (docs/python.md).

    import onnxkit

    model = onnxkit.load("model.onnx")          # or a .pt2, .tflite, SavedModel ...
    print(model.check())                        # all findings
    newer = model.convert_opset(21)             # verified by running both
    outputs = model.session("cpu").run({"x": array})
    print(onnxkit.diff(model, ["reference", "onnxruntime"]))
    print(onnxkit.bench(model, ["cpu", "onnxruntime"]))
"""

from ._library import library_path, version
from .comparison import backends, bench, diff, operators
from .errors import (BackendError, Cancelled, ConflictError, ConversionRefused, Error, InputError, InternalError,
                     LimitError, ReadWriteError, UnsupportedError, UsageError)
from .model import Model, load
from .reports import BenchChanges, BenchReport, CheckReport, DiffReport, Finding, InferReport
from .session import Port, Session

__version__ = version()
__all__ = [
    "BackendError", "BenchChanges", "BenchReport", "Cancelled", "CheckReport", "ConflictError", "ConversionRefused",
    "DiffReport", "Error", "Finding", "InferReport", "InputError", "InternalError", "LimitError", "Model", "Port",
    "ReadWriteError", "Session", "UnsupportedError", "UsageError", "backends", "bench", "diff", "library_path", "load",
    "operators", "version"
]
