"""Every command with every kind of input ends soon, in little memory, with a documented status and a reason."""

import os
import random

from box import fault_of
from onnx_bytes import field, graph, graph_attribute, model, node, one_node, tensor, value_info, varint


def nested_graphs(depth):
    inner = graph([node("Relu", ["x"], ["y"])])
    for _ in range(depth):
        inner = graph([node("If", ["c"], ["y"], [graph_attribute("then_branch", inner)])])
    return model(inner)


def inputs(box):
    sound = one_node()
    noise = random.Random(1).randbytes(100_000)
    files = {
        "empty.onnx": b"",
        "noise.onnx": noise,
        "zeros.onnx": bytes(1 << 20),
        "cut.onnx": sound[:-7],
        "announced.onnx": field(1, 8) + varint(7 << 3 | 2) + varint(1 << 62),
        "nested.onnx": nested_graphs(60),
        "too_deep.onnx": nested_graphs(3000),
        "no_graph.onnx": field(1, 8),
        "huge_dims.onnx": model(graph([node("Relu", ["w"], ["y"])], [], [value_info("y", [1])], [tensor("w", [1 << 62, 1 << 62], b"1")])),
        "negative.onnx": model(graph([node("Relu", ["x"], ["y"])], [value_info("x", [-5])], [value_info("y", [-5])])),
        "cycle.onnx": model(graph([node("Neg", ["b"], ["a"]), node("Neg", ["a"], ["b"])], [], [value_info("b", [1])])),
        "noise.onnxtxt": b'<ir_version: 8, opset_import: ["" : 17]>\n' + noise,
        "deep.onnxtxt": b'<ir_version: 8, opset_import: ["" : 17]>\ng (float[1] x) => (float[1] y) {' + b" y = If (x) <then_branch = g () => () {" * 5000,
        "deep.onnxjson": b'{"graph": {"node": [{"attribute": [{"g": ' * 5000,
        "open.onnxjson": b"[" * 1_000_000,
        "archive.onnx": b"PK\3\4" + noise,
        "net.tflite": noise,
        "net.pt2": noise,
        "net.keras": noise,
    }
    for name, data in files.items():
        box.put(name, data)
    os.makedirs(box.path("folder.onnx"))
    os.symlink("loop.onnx", box.path("loop.onnx"))
    os.symlink("/dev/zero", box.path("zero.onnx"))
    return [*files, "folder.onnx", "loop.onnx", "zero.onnx", "missing.onnx"]


COMMANDS = [["check"], ["check", "--fix", "-o", "fixed.onnx"], ["infer"], ["inspect"], ["inspect", "--format", "html", "-o", "page.html"], ["run"],
            ["upgrade", "--opset", "21", "-o", "up.onnx"], ["downgrade", "--opset", "9", "-o", "down.onnx"]]


def case_every_kind(box, check):
    for name in inputs(box):
        for words in COMMANDS:
            result = box.run(words[0], name, *words[1:])
            check(f"{' '.join(words[:2])} {name}", fault_of(result), result.note())
        for words in (["convert", name, "out.onnxtxt"], ["convert", name, "out.onnx", "--embed"], ["diff", name, name, "-b", "reference"]):
            result = box.run(*words)
            check(f"{words[0]} {name}", fault_of(result), result.note())


def case_values(box, check):
    box.put("m.onnx", one_node())
    noise = random.Random(2).randbytes(10_000)
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"
    for name, data in {"empty.npy": b"", "noise.npz": b"PK" + noise, "noise.npy": b"\x93NUMPY" + noise, "huge.npy": header + b" " * 60 + b"\n",
                       "noise.pb": noise, "noise.png": b"\x89PNG\r\n\x1a\n" + noise, "noise.jpg": b"\xff\xd8\xff" + noise}.items():
        box.put(name, data)
        result = box.run("run", "m.onnx", "-i", "x=" + name)
        check(name, fault_of(result, status=(2, 3)), result.note())
    os.mkfifo(box.path("pipe.npy"))
    os.mkdir(box.path("inputs"))
    os.mkfifo(box.path("inputs/input_0.pb"))
    for word in ("x=pipe.npy", "inputs"):
        result = box.run("run", "m.onnx", "-i", word, preexec=lambda: __import__("signal").alarm(20))
        check(word, fault_of(result, status=3), result.note())
