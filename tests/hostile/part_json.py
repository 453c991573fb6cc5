"""The JSON form keeps values or says what it cannot keep."""

import os
import struct

from box import fault_of
from onnx_bytes import field, graph, model, node, tensor, value_info


def case_reals(box, check):
    zero = field(1, "a") + field(20, 1) + bytes([2 << 3 | 5]) + struct.pack("<f", -0.0)
    floats = field(1, "b") + field(20, 6) + b"".join(field(7, x) for x in (-0.0, 0.0, -0.5))
    nans = field(1, 2) + field(2, 1) + field(8, "w") + field(4, struct.pack("<2I", 0xFFC12345, 0x7F800001))
    box.put("m.onnx", model(graph([node("Op", ["x"], ["y"], [zero, floats], domain="d")], [value_info("x", [1])], [value_info("y", [1])], [nans]), domains=["d"]))
    check("to JSON", fault_of(box.run("convert", "m.onnx", "m.json"), status=0))
    check("and back", fault_of(box.run("convert", "m.json", "back.onnx"), status=0))
    data = open(box.path("back.onnx"), "rb").read()
    check("-0.0", "" if struct.pack("<f", -0.0) in data else "is 0.0")
    check("-0.0 in a list", "" if b"".join(field(7, x) for x in (-0.0, 0.0, -0.5)) in data else "changed")
    check("NaN", "" if struct.pack("<2I", 0xFFC12345, 0x7F800001) in data else "changed")


def case_unknown_fields(box, check):
    box.put("m.onnx", model(graph([node("Relu", ["x"], ["y"])], [value_info("x", [1])], [value_info("y", [1])]), more=field(2000, "mine")))
    result = box.run("convert", "m.onnx", "m.json")
    check("they are named", fault_of(result, says="a key that only onnxkit reads: 1 in ModelProto"))
