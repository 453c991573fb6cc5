"""Values of the worker protocol as Python has them: a tensor is a numpy array (strings: of objects), a sequence a list, a map a dict,
an optional its content or None. Element types that numpy lacks come from ml_dtypes, one element to an item."""
from __future__ import annotations

import dataclasses
import fcntl
import mmap
import os

try:
    import numpy as np
except ImportError:  # told in the answer to hello
    np = None

STRING = 8
NAMES = ["undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "double", "uint32",
         "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4",
         "float4e2m1", "float8e8m0", "uint2", "int2", "float6e2m3", "float6e3m2"]
CODES = {name: code for code, name in enumerate(NAMES)}
NUMPY = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
         12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128"}
ML_DTYPES = {16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4",
             23: "float4_e2m1fn", 24: "float8_e8m0fnu", 25: "uint2", 26: "int2", 27: "float6_e2m3fn", 28: "float6_e3m2fn"}
PACKED_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}
SIGNED_PACKED = {22, 26}
ALIGNMENT = 64


class WorkerError(Exception):
    """An answer that is an error of the protocol."""

    def __init__(self, kind, message, trace="", **beside):
        super().__init__(message)
        self.kind, self.trace, self.beside = kind, trace, beside


@dataclasses.dataclass
class Port:
    """An input or output. `type` is None where unknown and for what holds maps; `map_type` is then the type of the map's values."""
    name: str
    type: int | None = None
    shape: list | None = None
    kind: str = "tensor"
    optional: bool = False
    map_type: int | None = None

    def message(self):
        fields = {"name": self.name, "kind": self.kind, "type": self.type, "shape": self.shape}
        return fields | {"optional": True} if self.optional else fields


@dataclasses.dataclass
class Inner:
    """A value inside a model: what writes it, in the runtime's words, and the inputs and values before it that this reads."""
    name: str
    op: str
    made_from: list

    def message(self):
        return {"name": self.name, "op": self.op, "from": self.made_from}


@dataclasses.dataclass
class Step:
    """A part of a run that a runtime timed: seconds of its own, the start since that of the run, the nodes of the model that it computes (their
    names, or values that they write), bytes read and written in all its calls, how often it ran, and the place in the main graph of a node without a name."""
    name: str
    op: str
    seconds: float
    start: float | None = None
    covers: list = dataclasses.field(default_factory=list)
    bytes: int | None = None
    calls: int = 1
    place: int | None = None

    @property
    def span(self):
        return [self.start, self.seconds]

    def kind(self):
        return self.name, self.op, self.calls

    def message(self, spans):
        return {"name": self.name, "op": self.op, "covers": self.covers, "bytes": self.bytes, "calls": self.calls, "place": self.place, "spans": spans}


class Empty:
    """The value of an input that is left out."""


def dtype_of(code):
    """The numpy type of an element type's number."""
    if code in NUMPY:
        return np.dtype(NUMPY[code])
    if code == STRING:
        return np.dtype(object)
    if code not in ML_DTYPES:
        raise WorkerError("invalid", f"unknown element type {code}")
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, ML_DTYPES[code]))
    except (ImportError, AttributeError):
        raise WorkerError("unsupported", f"{NAMES[code]} needs a newer ml_dtypes in this Python; pip install -U ml_dtypes") from None


def code_of(dtype):
    """The number of a numpy type."""
    dtype = np.dtype(dtype)
    if dtype.kind in "OUST":
        return STRING
    for table in (NUMPY, ML_DTYPES):
        for code, name in table.items():
            if dtype.name == name:
                return code
    raise WorkerError("unsupported", f"numpy's {dtype} has no ONNX element type")


def unpack(codes, code, count):
    """One byte for each element of the packed bytes."""
    bits = PACKED_BITS[code]
    columns = np.unpackbits(codes, count=count * bits, bitorder="little").reshape(count, bits)
    items = np.packbits(columns, axis=1, bitorder="little").reshape(count)
    if code in SIGNED_PACKED:
        sign = 1 << (bits - 1)
        items = ((items ^ sign).astype(np.int8) - sign).view(np.uint8)
    return items.view(dtype_of(code))


def pack(array, code):
    """The packed bytes of an array with one byte for each element."""
    bits = PACKED_BITS[code]
    columns = np.unpackbits(array.reshape(-1, 1).view(np.uint8), axis=1, count=bits, bitorder="little")
    return np.packbits(columns, bitorder="little")


def pack_strings(array):
    texts = [item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogateescape") for item in array.reshape(-1).tolist()]
    ends = np.cumsum([0, *map(len, texts)], dtype="<u8")
    return np.frombuffer(ends.tobytes() + b"".join(texts), np.uint8)


def unpack_strings(data, count):
    if len(data) < 8 * (count + 1):
        raise WorkerError("invalid", "a string tensor is too short for its shape")
    ends = data[:8 * (count + 1)].view("<u8").tolist()
    text = data[8 * (count + 1):].tobytes()
    if ends[0] != 0 or ends[-1] > len(text) or sorted(ends) != ends:
        raise WorkerError("invalid", "the ends of a string tensor are not in order")
    array = np.empty(count, object)
    array[:] = [text[a:b].decode("utf-8", "surrogateescape") for a, b in zip(ends, ends[1:])]
    return array


class Reader:
    """Values of a request. Arrays lie in the mapped segments and cannot be written to."""

    def __init__(self, descriptors):
        self.segments = []
        for descriptor in descriptors:
            size = os.fstat(descriptor).st_size
            # Private: a shared map of a sealed file needs Linux 6.7.
            self.segments.append(mmap.mmap(descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ) if size else b"")
            os.close(descriptor)

    def value(self, message):
        kind = message.get("kind", "tensor")
        if kind == "tensor":
            return self.tensor(message)
        if kind == "sequence":
            return [self.value(item) for item in message["items"]]
        if kind == "optional":
            return self.value(message["items"][0]) if message["items"] else None
        if kind == "map":
            return dict(zip(self.tensor(message["keys"]).tolist(), self.tensor(message["values"]).tolist()))
        if kind == "none":
            return Empty
        raise WorkerError("invalid", f"unknown kind of value '{kind}'")

    def tensor(self, message):
        code, shape = message["type"], message["shape"]
        data, count = self.bytes(message), 1
        for size in shape:
            count *= size
        if code == STRING:
            return unpack_strings(data, count).reshape(shape)
        dtype, packed = dtype_of(code), PACKED_BITS.get(code)
        expected = (count * packed + 7) // 8 if packed else count * dtype.itemsize
        if min(shape, default=0) < 0 or len(data) != expected:
            raise WorkerError("invalid", f"{NAMES[code]}{shape} requires {expected} bytes, not {len(data)}")
        return (unpack(data, code, count) if packed else data.view(dtype)).reshape(shape)

    def bytes(self, message):
        offset, size = message.get("offset", 0), message["bytes"]
        if not size:
            return np.empty(0, np.uint8)
        segment = message["segment"]
        if not 0 <= segment < len(self.segments) or offset < 0 or size < 0 or offset + size > len(self.segments[segment]):
            raise WorkerError("invalid", f"bytes {offset} to {offset + size} are outside segment {segment}")
        return np.frombuffer(self.segments[segment], np.uint8, size, offset)


class Writer:
    """Values of an answer; their bytes go into one segment."""

    def __init__(self):
        self.size, self.parts = 0, []

    def value(self, value, port):
        """The message of a value; what the value does not tell (types of what is empty) is taken from the port."""
        if port.kind == "optional" or value is None:
            items = [] if value is None else [self.content(value, port)]
            return {"kind": "optional", "type": port.type or 0, "items": items}
        return self.content(value, port)

    def content(self, value, port):
        if isinstance(value, (list, tuple)):
            items = [self.content(item, port) for item in value]
            code = port.type or (items[0].get("type") if items else None) or 0
            return {"kind": "sequence", "type": code, "items": items}
        if isinstance(value, dict):
            return self.map(value, port)
        return {"kind": "tensor"} | self.tensor(np.asarray(value))

    def map(self, value, port):
        texts = any(isinstance(key, str) for key in value)
        values = list(value.values())
        code = port.map_type or (code_of(np.asarray(values).dtype) if values else 1)
        return {"kind": "map", "keys": self.tensor(np.array(list(value), object if texts else np.int64)),
                "values": self.tensor(np.array(values, dtype_of(code)))}

    def tensor(self, array):
        code = code_of(array.dtype)
        if code == STRING:
            data = pack_strings(array)
        elif code in PACKED_BITS:
            data = pack(np.ascontiguousarray(array), code)
        else:
            data = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).reshape(-1).view(np.uint8)
        offset = -(-self.size // ALIGNMENT) * ALIGNMENT
        self.parts.append((offset, data))
        self.size = offset + len(data)
        return {"type": code, "shape": [int(size) for size in array.shape], "segment": 0, "offset": offset, "bytes": len(data)}

    def segment(self):
        """The descriptor of a new memory file with all the bytes, sealed; None when there are no bytes."""
        if not self.size:
            return None
        descriptor = os.memfd_create("onnxkit-values", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, self.size)
        with mmap.mmap(descriptor, self.size) as target:
            for offset, data in self.parts:
                if len(data):
                    np.frombuffer(target, np.uint8, len(data), offset)[:] = data
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
        return descriptor
