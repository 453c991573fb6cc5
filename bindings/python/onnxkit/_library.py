"""The C interface (onnxkit/c_api.h) through ctypes."""

import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import signal
import sys
import threading
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p

from . import errors

# The interface that this package was written for; a library of another minor version is another library.
_SUFFIX = ".so.0.1"


def library_path():
    """The library: ONNXKIT_LIBRARY, else the one in this package, else whichever the loader finds."""
    named = os.environ.get("ONNXKIT_LIBRARY")
    if named:
        return named
    own = pathlib.Path(__file__).parent / "lib" / f"libonnxkit_c{_SUFFIX}"
    return str(own) if own.exists() else f"libonnxkit_c{_SUFFIX}"


# Results and arguments of functions; those that return an error have c_void_p. A handle is a c_void_p, too.
_FUNCTIONS = {
    "version_text": (c_char_p, []),
    "error_get_kind": (c_int, [c_void_p]),
    "error_code": (c_char_p, [c_void_p]),
    "error_message": (c_char_p, [c_void_p]),
    "error_text": (c_char_p, [c_void_p]),
    "error_json": (c_char_p, [c_void_p]),
    "error_free": (None, [c_void_p]),
    "text_data": (c_void_p, [c_void_p]),
    "text_size": (c_size_t, [c_void_p]),
    "text_free": (None, [c_void_p]),
    "stop_new": (c_void_p, []),
    "stop_request": (None, [c_void_p]),
    "stop_free": (None, [c_void_p]),
    "model_read": (c_void_p, [c_char_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "model_read_bytes":
        (c_void_p, [c_char_p, c_size_t, c_char_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "model_write": (c_void_p, [c_void_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "model_bytes": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "model_describe": (c_void_p, [c_void_p, POINTER(c_void_p)]),
    "model_copy": (c_void_p, [c_void_p]),
    "model_free": (None, [c_void_p]),
    "check": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "fix": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "infer": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "inspect": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "change_opset": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "simplify": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "extract": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "ops": (c_void_p, [c_char_p, POINTER(c_void_p)]),
    "backends": (c_void_p, [c_char_p, POINTER(c_void_p)]),
    "value_tensor": (c_void_p, [c_int32, POINTER(c_int64), c_size_t, c_void_p, c_size_t, POINTER(c_void_p)]),
    "value_strings":
        (c_void_p, [POINTER(c_int64), c_size_t, POINTER(c_char_p), POINTER(c_size_t), c_size_t, POINTER(c_void_p)]),
    "value_sequence": (c_void_p, [POINTER(c_void_p), c_size_t, c_int32, POINTER(c_void_p)]),
    "value_optional": (c_void_p, [c_void_p, c_int32, POINTER(c_void_p)]),
    "value_map": (c_void_p, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "value_free": (None, [c_void_p]),
    "value_get_kind": (c_int, [c_void_p]),
    "value_element_type": (c_int32, [c_void_p]),
    "value_rank": (c_size_t, [c_void_p]),
    "value_dims": (POINTER(c_int64), [c_void_p]),
    "value_bytes": (c_void_p, [c_void_p]),
    "value_size": (c_size_t, [c_void_p]),
    "value_string_count": (c_size_t, [c_void_p]),
    "value_string": (c_void_p, [c_void_p, c_size_t, POINTER(c_size_t)]),
    "value_item_count": (c_size_t, [c_void_p]),
    "value_item": (c_void_p, [c_void_p, c_size_t]),
    "values_new": (c_void_p, []),
    "values_add": (c_void_p, [c_void_p, c_char_p, c_void_p]),
    "values_count": (c_size_t, [c_void_p]),
    "values_name": (c_char_p, [c_void_p, c_size_t]),
    "values_get": (c_void_p, [c_void_p, c_size_t]),
    "values_free": (None, [c_void_p]),
    "session_open": (c_void_p, [c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "session_describe": (c_void_p, [c_void_p, POINTER(c_void_p)]),
    "session_run": (c_void_p, [c_void_p, c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "session_free": (None, [c_void_p]),
    "generate_inputs": (c_void_p, [c_void_p, c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "plan": (c_void_p, [c_void_p, c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "diff": (c_void_p, [
        POINTER(c_void_p), c_size_t,
        POINTER(c_void_p), c_size_t, c_char_p, c_void_p, POINTER(c_void_p)
    ]),
    "bench": (c_void_p, [POINTER(c_void_p), c_size_t, c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "bench_format": (c_void_p, [c_char_p, c_size_t, c_char_p, POINTER(c_void_p)]),
}


def _load():
    path = library_path()
    try:
        library = ctypes.CDLL(path)
    except OSError as fault:
        raise ImportError(f"onnxkit's library cannot be loaded: {fault}; ONNXKIT_LIBRARY names it") from fault
    functions = {}
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, "onnxkit_" + name)
        function.restype = result
        function.argtypes = arguments
        functions[name] = function
    return functions


_functions = _load()


def function(name):
    """A function of the C interface that cannot fail, by its name without onnxkit_."""
    return _functions[name]


def version():
    """Version of the library: "0.1.0"."""
    return function("version_text")().decode()


class Handle:
    """A handle of the library; it is freed with this object."""

    def __init__(self, pointer, kind):
        if not pointer:
            raise MemoryError()
        self.pointer = pointer
        self._free = _functions[kind + "_free"]

    def __del__(self):
        pointer, self.pointer = getattr(self, "pointer", None), None
        if pointer:
            self._free(pointer)


def raise_error(error):
    """Raises an error of the library, and frees it."""
    try:
        parts = [function("error_" + part)(error).decode(errors="replace") for part in ("code", "message", "text", "json")]
        kind = function("error_get_kind")(error)
    finally:
        function("error_free")(error)
    raise errors.of_kind(kind, *parts)


def call(name, *arguments):
    """Calls a function that returns an error or NULL."""
    error = _functions[name](*arguments)
    if error:
        raise_error(error)


def taken(slot, kind):
    """The handle that a function put there."""
    return Handle(slot.value, kind)


def text_bytes(slot):
    """The bytes of a text that a function put there; b"" without one."""
    if not slot.value:
        return b""
    text = Handle(slot.value, "text")
    return ctypes.string_at(function("text_data")(text.pointer), function("text_size")(text.pointer))


def report_of(name, *arguments):
    """Calls a function whose last argument takes a report as JSON."""
    slot = c_void_p()
    call(name, *arguments, ctypes.byref(slot))
    return json.loads(text_bytes(slot))


def options_text(**options):
    """Options as JSON; those that are None are left out. None where nothing is left."""
    given = {name: value for name, value in options.items() if value is not None}
    return json.dumps(given, default=os.fspath).encode() if given else None


def worker_options(**options):
    """Options with those of runtimes in processes of their own, which run in this interpreter's environment unless `python` names another."""
    python = options.pop("python", None) or os.environ.get("ONNXKIT_PYTHON") or sys.executable
    return options_text(python=python, **options)


class _Interrupts:
    """Hears of Ctrl-C while the main thread is inside the library, where Python's own handler waits for the call to end."""

    def __init__(self):
        self.process = os.getpid()
        self._heard, self._told = os.pipe()
        os.set_blocking(self._told, False)
        self._lock = threading.Lock()
        self._stop = None  # of the call that runs
        self._former = -1  # who was told of signals before
        threading.Thread(target=self._listen, name="onnxkit interrupts", daemon=True).start()

    def _listen(self):
        while True:
            signals = os.read(self._heard, 64)
            with self._lock:
                if self._former >= 0:
                    with contextlib.suppress(OSError):  # it is full, or was closed
                        os.write(self._former, signals)
                if self._stop is not None and signal.SIGINT in signals:
                    function("stop_request")(self._stop.pointer)

    def call(self, work):
        """`work(stop)`, in the main thread."""
        stop = Handle(function("stop_new")(), "stop")
        former = signal.set_wakeup_fd(self._told, warn_on_full_buffer=False)
        with self._lock:
            self._stop, self._former = stop, former
        try:
            return work(stop.pointer)
        finally:
            signal.set_wakeup_fd(former)
            with self._lock:
                self._stop, self._former = None, -1


_interrupts = None


def interruptible(work):
    """`work(stop)`, which Ctrl-C ends. Signals reach the main thread only: elsewhere there is nothing to stop it."""
    global _interrupts
    if threading.current_thread() is not threading.main_thread():
        return work(None)
    if _interrupts is None or _interrupts.process != os.getpid():  # a forked process has the pipe and no thread
        _interrupts = _Interrupts()
    return _interrupts.call(work)


def interruptible_call(name, *arguments):
    """`call`, which Ctrl-C ends, of a function whose last arguments are a stop and the place of a result; that place."""
    slot = c_void_p()
    interruptible(lambda stop: call(name, *arguments, stop, ctypes.byref(slot)))
    return slot


def members(json, cls):
    """The members of an object that a dataclass has: later libraries may tell more."""
    known = {field.name for field in dataclasses.fields(cls)}
    return {name: value for name, value in json.items() if name in known}
