"""Why a call gave no result."""

import json


class Error(Exception):
    """`code` is stable ("shape-mismatch", "cannot-read" ...); `finding` has place, expected, found, notes and help as a dictionary
    (docs/json/check.schema.json). The text is for people."""

    def __init__(self, code, message, text="", finding=None):
        super().__init__(text.rstrip() or f"error[{code}]: {message}")
        self.code = code
        self.message = message
        self.finding = finding or {}

    def __reduce__(self):
        return type(self), (self.code, self.message, str(self), self.finding)


class InternalError(Error):
    """A fault of onnxkit."""


class UsageError(Error, ValueError):
    """The caller named something that does not exist or does not fit: an option, an input, a target, an opset."""


class InputError(Error, ValueError):
    """A model or a value is not what it must be."""


class UnsupportedError(Error):
    """Valid, but onnxkit or this backend cannot do it."""


class LimitError(Error):
    """A limit of time, memory or iterations was reached."""


class Cancelled(Error):
    """Stopped by the caller."""


class BackendError(Error):
    """A runtime outside onnxkit failed."""


class ReadWriteError(Error, OSError):
    """The system could not read or write."""

    def __str__(self):  # OSError prints a number and a message
        return str(self.args[0])


class ConflictError(Error):
    """An output is in the way; nothing was changed."""


class ConversionRefused(Error):
    """A model cannot be converted, or its results would differ; the model is as it was. `report` is the report of the command."""

    def __init__(self, code, message, text="", finding=None, report=None):
        super().__init__(code, message, text, finding)
        self.report = report or {}

    def __reduce__(self):
        return type(self), (self.code, self.message, str(self), self.finding, self.report)


# In the order of onnxkit_error_kind.
_KINDS = (InternalError, UsageError, InputError, UnsupportedError, LimitError, Cancelled, BackendError, ReadWriteError,
          ConflictError)


def of_kind(kind, code, message, text, finding):
    """The exception for an error of the library."""
    known = _KINDS[kind] if 0 <= kind < len(_KINDS) else Error
    return known(code, message, text, json.loads(finding))
