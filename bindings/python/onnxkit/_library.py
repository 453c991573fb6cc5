"""The C interface (onnxkit/c_api.h) through ctypes."""

import ctypes
import json
import os
import pathlib
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
    "make_inputs": (c_void_p, [c_void_p, c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "diff": (c_void_p, [
        POINTER(c_void_p), c_size_t,
        POINTER(c_void_p), c_size_t, c_char_p, c_void_p, POINTER(c_void_p)
    ]),
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
    """Options as JSON; those that are None are left out."""
    return json.dumps({name: value for name, value in options.items() if value is not None}, default=os.fspath).encode()


class Stop:
    """Lets Ctrl-C end a call: the call runs in a thread of its own, and the interpreter goes on to look for signals."""

    def __init__(self):
        self._handle = Handle(function("stop_new")(), "stop")

    def run(self, work):
        """`work(stop)`, where stop is for the call; in another thread than the main one it is called as it is."""
        if threading.current_thread() is not threading.main_thread():
            return work(self._handle.pointer)
        result = []

        def worked():
            try:
                result.append((work(self._handle.pointer), None))
            except BaseException as fault:  # raised again in the caller's thread
                result.append((None, fault))

        thread = threading.Thread(target=worked, name="onnxkit")
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.1)
        except BaseException:
            function("stop_request")(self._handle.pointer)
            thread.join()
            raise
        value, fault = result[0]
        if fault is not None:
            raise fault
        return value
