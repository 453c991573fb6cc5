"""Models that are ready to run."""

import ctypes
import dataclasses
import threading

from ._library import call, interruptible, options_text, report_of, taken
from ._values import from_values, to_values


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or output of a model."""

    name: str
    kind: str  #: "tensor", "sequence", "optional", "map", or "none" where the model declares no type
    type: str = ""  #: of the elements of a tensor: "float", "int64" ...
    dims: tuple = None  #: None for a size that is open; None as a whole where the rank is
    has_default: bool = False  #: an input that may be left out

    @classmethod
    def of(cls, json):
        known = {field.name for field in dataclasses.fields(cls)}
        parts = {name: value for name, value in json.items() if name in known}
        return cls(**{**parts, "dims": tuple(parts["dims"]) if "dims" in parts else None})


class Session:
    """A model that is loaded once on a backend and run any number of times. `Model.session` makes one.

    Several threads may use one session; its runs go one after the other.
    """

    def __init__(self, model, options):
        slot = ctypes.c_void_p()
        interruptible(lambda stop: call("session_open", model, options, stop, ctypes.byref(slot)))
        self._handle = taken(slot, "session")
        self._lock = threading.Lock()
        described = report_of("session_describe", self._handle.pointer)
        self.inputs = [Port.of(port) for port in described["inputs"]]
        self._ports = {port.name: port for port in self.inputs}
        self.outputs = [Port.of(port) for port in described["outputs"]]
        self.warnings = described["warnings"]  #: what the runtime said when it loaded the model

    def run(self, inputs, outputs=None, *, seed=None):
        """The outputs by name, as numpy arrays; sequences are lists, maps dictionaries, empty optionals None.

        inputs: values by name. Arrays must have the type that the model declares; lists of numbers get it. Tensors of PyTorch are taken, too.
        outputs: names of those wanted, in this order; all unless given.
        seed: of random operators without one of their own.
        """
        values = to_values(inputs, self._ports)
        options = options_text(outputs=outputs and list(outputs), seed=seed)
        slot = ctypes.c_void_p()
        with self._lock:
            interruptible(
                lambda stop: call("session_run", self._handle.pointer, values.pointer, options, stop, ctypes.byref(slot)))
        return from_values(taken(slot, "values"))
