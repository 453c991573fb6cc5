"""Recorded inputs and outputs (test_data_set_N/*.pb) as values of host.py, and their comparison."""
import struct

import numpy as np
import onnx
from onnx import numpy_helper

PROTOS = {"sequence": onnx.SequenceProto, "map": onnx.MapProto, "optional": onnx.TensorProto, "tensor": onnx.TensorProto}
STRING = onnx.TensorProto.STRING


def tensor(proto):
    """(type, shape, bytes) of a TensorProto."""
    shape = list(proto.dims)
    if proto.data_type == STRING:
        ends, text = [0], b""
        for part in proto.string_data:
            text += part
            ends.append(len(text))
        return STRING, shape, struct.pack(f"<{len(ends)}Q", *ends) + text
    raw = proto.raw_data
    if not raw:
        raw = numpy_helper.from_array(numpy_helper.to_array(proto)).raw_data
    return proto.data_type, shape, raw


def joined(protos):
    """One tensor of the values of a map: they come as one tensor or as one for each key."""
    if protos[0].data_type == STRING:
        texts = [text for proto in protos for text in proto.string_data]
        return tensor(onnx.TensorProto(data_type=STRING, dims=[len(texts)], string_data=texts))
    parts = [numpy_helper.to_array(proto).reshape(-1) for proto in protos]
    return tensor(numpy_helper.from_array(np.concatenate(parts)))


def value(proto):
    """Of any of the protos of onnx-data.proto."""
    if isinstance(proto, onnx.TensorProto):
        return tensor(proto)
    if isinstance(proto, onnx.MapProto):
        strings = proto.key_type == STRING
        if strings:
            keys = onnx.TensorProto(data_type=STRING, dims=[len(proto.string_keys)], string_data=proto.string_keys)
        else:
            keys = numpy_helper.from_array(np.array(proto.keys, np.int64))
        return "map", tensor(keys), joined(proto.values.tensor_values)
    if isinstance(proto, onnx.SequenceProto):
        parts = list(proto.tensor_values) + list(proto.map_values) + list(proto.sequence_values)
        code = proto.tensor_values[0].data_type if proto.tensor_values else 0
        return "sequence", code, [value(part) for part in parts]
    raise ValueError(f"a {type(proto).__name__}")


def read(path, kind="tensor"):
    """Name and value of a file. An optional is stored as the tensor that it holds."""
    proto = PROTOS[kind].FromString(path.read_bytes())
    return proto.name, value(proto)


def numbers(tensor):
    """A numpy array; strings as a list of bytes."""
    code, shape, data = tensor
    count = int(np.prod(shape, dtype=np.int64))
    if code == STRING:
        ends = struct.unpack_from(f"<{count + 1}Q", data)
        text = data[8 * (count + 1):]
        return [text[a:b] for a, b in zip(ends, ends[1:])]
    proto = onnx.TensorProto(data_type=code, dims=shape, raw_data=data)
    return numpy_helper.to_array(proto)


def difference(got, want, atol, rtol, where=""):
    """What is wrong in one line; "" when nothing is. An optional that holds a value counts as that value."""
    if isinstance(got[0], str) and got[0] == "optional" and got[2] and want[0] != "optional":
        return difference(got[2][0], want, atol, rtol, where)
    if isinstance(got[0], str) or isinstance(want[0], str):
        if got[0] != want[0]:
            return f"{where}: a {want[0] if isinstance(want[0], str) else 'tensor'} was expected"
        if got[0] == "map":
            return map_difference(got, want, atol, rtol, where)
        if len(got[2]) != len(want[2]):
            return f"{where}: {len(got[2])} items instead of {len(want[2])}"
        found = (difference(a, b, atol, rtol, f"{where}[{place}]") for place, (a, b) in enumerate(zip(got[2], want[2])))
        return next(filter(None, found), "")
    if got[0] != want[0]:
        return f"{where}: element type {got[0]} instead of {want[0]}"
    if list(got[1]) != list(want[1]):
        return f"{where}: shape {got[1]} instead of {want[1]}"
    a, b = numbers(got), numbers(want)
    if got[0] == STRING:
        return "" if a == b else f"{where}: other strings"
    if got[0] == onnx.TensorProto.BOOL or a.dtype.kind in "iu":
        return "" if (a == b).all() else f"{where}: {int((a != b).sum())} elements differ"
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    bad = ~(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True))
    return f"{where}: {int(bad.sum())} elements differ, by up to {np.nanmax(np.abs(a - b)[bad]):.3g}" if bad.any() else ""


def map_difference(got, want, atol, rtol, where):
    """Maps have no order."""
    a, b = (dict(zip(list(numbers(side[1])), list(numbers(side[2])))) for side in (got, want))
    if a.keys() != b.keys():
        return f"{where}: other keys"
    bad = [key for key in a if isinstance(a[key], bytes) and a[key] != b[key] or not isinstance(a[key], bytes)
           and not np.isclose(float(a[key]), float(b[key]), rtol=rtol, atol=atol, equal_nan=True)]
    return f"{where}: values of {bad[:3]} differ" if bad else ""


def kinds(model):
    """Kind of each input that is no initializer, then of each output, as in the files."""
    initial = {t.name for t in model.graph.initializer} | {t.values.name for t in model.graph.sparse_initializer}
    def kind(port):
        return (port.type.WhichOneof("value") or "tensor_type").removesuffix("_type").replace("sparse_tensor", "tensor")
    inputs = [(port.name, kind(port)) for port in model.graph.input if port.name not in initial]
    return inputs, [(port.name, kind(port)) for port in model.graph.output]


