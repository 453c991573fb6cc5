"""Models that are ready to run."""

import dataclasses
import threading

from ._library import interruptible_call, members, options_text, report_of, taken
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
        parts = members(json, cls)
        return cls(**{**parts, "dims": tuple(parts["dims"]) if "dims" in parts else None})


class Session:
    """A model that is loaded once on a backend and run any number of times. `Model.session` makes one.

    Several threads may use one session; its runs go one after the other.
    """

    def __init__(self, model, options):
        self._handle = taken(interruptible_call("session_open", model, options), "session")
        self._lock = threading.Lock()
        described = report_of("session_describe", self._handle.pointer)
        self.inputs = [Port.of(port) for port in described["inputs"]]
        self.outputs = [Port.of(port) for port in described["outputs"]]
        self.warnings = described["warnings"]  #: what the runtime said when it loaded the model

    def run(self, inputs, outputs=None, *, seed=None):
        """The outputs by name, as numpy arrays; sequences are lists, maps dictionaries, empty optionals None.

        inputs: values by name. Arrays must have the type that the model declares; lists of numbers get it. Tensors of PyTorch are taken, too.
        outputs: names of those wanted, in this order; all unless given.
        seed: of random operators without one of their own.
        """
        values = to_values(inputs, self.inputs)
        options = options_text(outputs=outputs and list(outputs), seed=seed)
        with self._lock:
            slot = interruptible_call("session_run", self._handle.pointer, values.pointer, options)
        return from_values(taken(slot, "values"))
