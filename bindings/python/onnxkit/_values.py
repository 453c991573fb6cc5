"""Values as numpy arrays, lists (sequences), dictionaries (maps) and None (empty optionals)."""

import ctypes

import numpy

from ._library import Handle, call, function, taken
from .errors import UnsupportedError

_NONE, _TENSOR, _SEQUENCE, _OPTIONAL, _MAP = range(5)
_STRING = 8
# Numbers of TensorProto.DataType.
_NUMPY = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
    11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128"
}
# Types that numpy has with the package ml_dtypes.
_ML_DTYPES = {
    16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4",
    22: "int4", 23: "float4_e2m1fn", 24: "float8_e8m0fnu", 25: "uint2", 26: "int2", 27: "float6_e2m3fn",
    28: "float6_e3m2fn"
}
# Bits of an element where they are packed; an array has a byte for each.
_PACKED_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}
_NUMBERS = {name: number for number, name in {**_NUMPY, **_ML_DTYPES}.items()}
# A lookup by type takes a tenth of one by name.
_NUMBERS_OF_TYPES = {numpy.dtype(name): number for number, name in _NUMPY.items()}
_TYPES = {number: numpy.dtype(name) for number, name in _NUMPY.items()}
# As ONNX names them, for the types of a session's inputs.
_ONNX_NAMES = {"float": "float32", "double": "float64"}


def numpy_type(number):
    """The numpy type of an element type."""
    if number in _TYPES:
        return _TYPES[number]
    name = _ML_DTYPES.get(number)
    if name is None:
        raise UnsupportedError("tensor-type", f"numpy has no type for element type {number}")
    try:
        import ml_dtypes
    except ImportError:
        ml_dtypes = None
    if not hasattr(ml_dtypes, name):
        raise UnsupportedError("tensor-type", f"arrays of {name} require the package ml_dtypes")
    return numpy.dtype(getattr(ml_dtypes, name))


def type_named(name):
    """The numpy type for numbers written as lists, by the name that ONNX has for it; None leaves it to numpy."""
    name = _ONNX_NAMES.get(name, name)
    return numpy.dtype(name) if name in _NUMPY.values() else None


def _packed(array, bits):
    planes = numpy.unpackbits(array.reshape(-1, 1).view(numpy.uint8), axis=1, bitorder="little")[:, :bits]
    return numpy.packbits(planes.reshape(-1), bitorder="little").tobytes()


def _unpacked(data, bits, count, dtype):
    planes = numpy.unpackbits(numpy.frombuffer(data, numpy.uint8), bitorder="little")[:count * bits].reshape(count, bits)
    return numpy.packbits(planes, axis=1, bitorder="little").reshape(-1).view(dtype)


def _strings(array):
    texts = [item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1)]
    slot = ctypes.c_void_p()
    call("value_strings", (ctypes.c_int64 * array.ndim)(*array.shape), array.ndim, (ctypes.c_char_p * len(texts))(*texts),
         (ctypes.c_size_t * len(texts))(*map(len, texts)), len(texts), ctypes.byref(slot))
    return taken(slot, "value")


def _tensor(array):
    if array.dtype.kind in "OSU":
        return _strings(array)
    number = _NUMBERS_OF_TYPES.get(array.dtype) or _NUMBERS.get(array.dtype.name)
    if number is None:
        raise TypeError(f"ONNX has no element type for numpy's {array.dtype}")
    if not (array.dtype.isnative and array.flags.c_contiguous):
        array = numpy.asarray(array, array.dtype.newbyteorder("<") if number in _NUMPY else None, order="C")
    if number in _PACKED_BITS:
        data = _packed(array, _PACKED_BITS[number])
        pointer, size = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data)
    else:
        pointer, size = array.__array_interface__["data"][0], array.nbytes
    slot = ctypes.c_void_p()
    call("value_tensor", number, (ctypes.c_int64 * array.ndim)(*array.shape), array.ndim, pointer, size,
         ctypes.byref(slot))
    return taken(slot, "value")


def _sequence(items, dtype):
    handles = [to_value(item, dtype=dtype) for item in items]
    slot = ctypes.c_void_p()
    call("value_sequence", (ctypes.c_void_p * len(handles))(*[item.pointer for item in handles]), len(handles), 0,
         ctypes.byref(slot))
    return taken(slot, "value")


def _optional(content, dtype):
    held = None if content is None else to_value(content, dtype=dtype)
    slot = ctypes.c_void_p()
    call("value_optional", held and held.pointer, 0, ctypes.byref(slot))
    return taken(slot, "value")


def _map(items):
    keys = list(items)
    are_numbers = all(isinstance(key, (int, numpy.integer)) for key in keys)
    key = _tensor(numpy.array(keys, numpy.int64 if are_numbers else object))
    value = _tensor(numpy.asarray(list(items.values())))
    slot = ctypes.c_void_p()
    call("value_map", key.pointer, value.pointer, ctypes.byref(slot))
    return taken(slot, "value")


def _is_sequence(value):
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(hasattr(item, "__array__") for item in value)


def to_value(value, kind=None, dtype=None):
    """A handle for a value. `kind` is what the model declares ("sequence", "optional" ...); without it, a list of arrays is a sequence. `dtype` is
    for numbers that no array gives a type."""
    if kind == "optional" or (kind is None and value is None):
        return _optional(value, dtype)
    if isinstance(value, dict):
        return _map(value)
    if kind == "sequence" or (kind is None and _is_sequence(value)):
        return _sequence(value, dtype)
    if hasattr(value, "detach"):  # a tensor of PyTorch that may need gradients or lie on a device
        value = value.detach().cpu()
    has_type = hasattr(value, "__array__")
    return _tensor(numpy.asarray(value) if has_type or dtype is None else numpy.asarray(value, dtype))


def _from_strings(value, dims):
    texts = numpy.empty(function("value_string_count")(value), object)
    size = ctypes.c_size_t()
    for i in range(len(texts)):
        pointer = function("value_string")(value, i, ctypes.byref(size))
        texts[i] = ctypes.string_at(pointer, size.value).decode(errors="surrogateescape")
    return texts.reshape(dims)


def _from_tensor(value):
    number = function("value_element_type")(value)
    rank = function("value_rank")(value)
    dims = function("value_dims")(value)[:rank] if rank else []
    if number == _STRING:
        return _from_strings(value, dims)
    array = numpy.empty(dims, numpy_type(number))
    data, size = function("value_bytes")(value), function("value_size")(value)
    if number in _PACKED_BITS:
        return _unpacked(ctypes.string_at(data, size), _PACKED_BITS[number], array.size, array.dtype).reshape(dims)
    ctypes.memmove(array.__array_interface__["data"][0], data, size)
    return array


def from_value(handle):
    """The value as Python has it."""
    value = handle.pointer
    kind = function("value_get_kind")(value)
    if kind == _TENSOR:
        return _from_tensor(value)
    items = [
        from_value(Handle(function("value_item")(value, i), "value"))
        for i in range(function("value_item_count")(value))
    ]
    if kind == _SEQUENCE:
        return items
    if kind == _OPTIONAL:
        return items[0] if items else None
    if kind == _MAP:
        return dict(zip(items[0].tolist(), items[1].tolist()))
    return None


def to_values(named, ports):
    """Values by name as a handle. `ports` are the inputs that the model declares."""
    values = Handle(function("values_new")(), "values")
    for name, value in named.items():
        port = next((port for port in ports if port.name == name), None)
        held = to_value(value, port and port.kind, port and type_named(port.type))
        call("values_add", values.pointer, name.encode(), held.pointer)
    return values


def from_values(values):
    """Values by name."""
    return {
        function("values_name")(values.pointer, i).decode(errors="surrogateescape"):
        from_value(Handle(function("values_get")(values.pointer, i), "value"))
        for i in range(function("values_count")(values.pointer))
    }
