"""Writes ONNX models field by field, valid or not, without the onnx package: each function returns the bytes of a message."""

import struct

FLOAT, UINT8, INT32, INT64, STRING, BOOL, DOUBLE = 1, 2, 6, 7, 8, 9, 11


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """An int is a varint, a float fixed32, text and bytes are length-delimited."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(number, values):
    return b"".join(field(number, value) for value in values)


def entry(key, value):
    return field(1, key) + field(2, value)


def value_info(name, dims=None, element=FLOAT):
    """Sizes are numbers or names; None leaves the shape out."""
    tensor = field(1, element)
    if dims is not None:
        tensor += field(2, fields(1, (field(2, d) if isinstance(d, str) else field(1, d) for d in dims)))
    return field(1, name) + field(2, field(1, tensor))


def tensor(name, dims, raw=None, element=FLOAT, external=None):
    out = fields(1, dims) + field(2, element) + field(8, name)
    if raw is not None:
        out += field(9, raw)
    if external is not None:
        out += fields(13, (entry(key, str(value)) for key, value in external.items())) + field(14, 1)
    return out


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, list):
        return field(1, name) + b"".join(field(8, number) for number in value) + field(20, 7)
    raise TypeError(value)


def tensor_attribute(name, value):
    return field(1, name) + field(5, value) + field(20, 4)


def graph_attribute(name, value):
    return field(1, name) + field(6, value) + field(20, 5)


def node(op, inputs, outputs, attributes=(), name="", domain=""):
    out = fields(1, inputs) + fields(2, outputs)
    if name:
        out += field(3, name)
    out += field(4, op) + fields(5, attributes)
    return out + field(7, domain) if domain else out


def graph(nodes, inputs=(), outputs=(), initializers=(), name="g"):
    return fields(1, nodes) + field(2, name) + fields(5, initializers) + fields(11, inputs) + fields(12, outputs)


def function(name, inputs, outputs, nodes, domain="f", opset=18, imports=()):
    out = field(1, name) + fields(4, inputs) + fields(5, outputs) + fields(7, nodes) + field(9, opset_id("", opset))
    return out + fields(9, (opset_id(d, v) for d, v in imports)) + field(10, domain)


def opset_id(domain, version):
    return (field(1, domain) if domain else b"") + field(2, version)


def model(graph_bytes, opset=18, domains=(), functions=(), ir_version=8, more=b""):
    out = field(1, ir_version) + more + field(7, graph_bytes) + field(8, opset_id("", opset))
    return out + fields(8, (opset_id(domain, 1) for domain in domains)) + fields(25, functions)


def one_node(op="Relu", dims=(3,), **more):
    """y = op(x)."""
    return model(graph([node(op, ["x"], ["y"])], [value_info("x", dims)], [value_info("y", dims)]), **more)
