"""Small files that ask for much memory."""

import os
import struct
import zipfile

from box import fault_of
from onnx_bytes import INT64, function, graph, model, node, one_node, tensor, value_info


def npy(dims, element_size=4):
    header = f"{{'descr': '<f{element_size}', 'fortran_order': False, 'shape': {tuple(dims)}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def npz_of_zeros(path, size, name="x.npy"):
    """A few MB that unpack to `size` bytes."""
    header = npy([size // 4])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w", force_zip64=True) as member:
        member.write(header)
        piece = bytes(1 << 24)
        for at in range(0, size, len(piece)):
            member.write(piece[: min(len(piece), size - at)])


def case_archive_of_zeros(box, check):
    size = 3 << 30
    npz_of_zeros(box.path("x.npz"), size)
    box.put("m.onnx", one_node(dims=["n"]))
    result = box.run("run", "m.onnx", "-i", "x.npz", "--memory-limit", "100MB")
    check("run --memory-limit", fault_of(result, memory=300 << 20, cpu=2, status=3, says="memory-limit"), result.note())
    result = box.run("run", "m.onnx", "-i", "x=x.npz", "--memory-limit", "100MB")
    check("run --memory-limit, named", fault_of(result, memory=300 << 20, cpu=2), result.note())


def huge(opset=18):
    """A few bytes that make 1.6 GB several times."""
    shape = tensor("shape", [1], (200_000_000).to_bytes(8, "little"), INT64)
    nodes = [node("ConstantOfShape", ["shape"], ["a"])] + [node("Add", ["a", "a"], [f"s{i}"]) for i in range(4)]
    nodes.append(node("Sum", [f"s{i}" for i in range(4)], ["y"]))
    return model(graph(nodes, [], [value_info("y", ["n"])], [shape]), opset=opset)


def case_verification(box, check):
    box.put("m.onnx", huge())
    for words in (["upgrade", "m.onnx", "--opset", "21", "-o", "up.onnx"], ["downgrade", "m.onnx", "--opset", "11", "-o", "down.onnx"],
                  ["convert", "m.onnx", "c.onnx", "--opset", "21"]):
        result = box.run(*words)
        check(words[0], fault_of(result), result.note())
        if words[0] != "convert":
            result = box.run(*words, "--memory-limit", "500MB")
            check(words[0] + " --memory-limit", fault_of(result, memory=1 << 30, status=(0, 1), says="exceed the limit"), result.note())


def case_chain_of_functions(box, check):
    count = 20_000
    functions = [function("F0", ["a"], ["b"], [node("Neg", ["a"], ["b"])])]
    for i in range(1, count):
        functions.append(function(f"F{i}", ["a"], ["b"], [node(f"F{i - 1}", ["a"], ["b"], domain="f")], imports=[("f", 1)]))
    calls = graph([node(f"F{count - 1}", ["x"], ["y"], domain="f")], [value_info("x", [3])], [value_info("y", [3])])
    box.put("m.onnx", model(calls, domains=["f"], functions=functions))
    for words in (["check"], ["infer"], ["inspect"], ["run"], ["upgrade", "--opset", "21", "-o", "up.onnx"], ["downgrade", "--opset", "15", "-o", "d.onnx"]):
        result = box.run(words[0], "m.onnx", *words[1:])
        check(words[0], fault_of(result, memory=1 << 30), result.note())


def case_weights_that_overlap(box, check):
    size = 16 << 20
    with open(box.path("w.bin"), "wb") as file:
        file.truncate(size)
    tensors = [tensor(f"w{i}", [size // 4], external={"location": "w.bin"}) for i in range(1_000)]
    box.put("m.onnx", model(graph([node("Relu", ["w0"], ["y"])], [], [value_info("y", [size // 4])], tensors)))
    result = box.run("convert", "m.onnx", "out.onnx", "--embed")
    size = os.path.getsize(box.path("out.onnx")) if os.path.exists(box.path("out.onnx")) else 0
    check("convert --embed", fault_of(result, status=3) or (f"{size >> 20} MiB written" if size else ""), result.note())
    result = box.run("convert", "m.onnx", "out2.onnx", "--external")
    check("convert --external", fault_of(result, status=0), result.note())


def case_no_memory_is_no_limit(box, check):
    box.put("m.onnx", huge())
    result = box.run("run", "m.onnx", address_space=1 << 30)
    check("run", fault_of(result, status=3, says="out-of-memory"), result.note())


def case_declared_sizes(box, check):
    box.put("m.onnx", one_node(dims=[1 << 40]))
    box.put("w.onnx", model(graph([node("Relu", ["w"], ["y"])], [], [value_info("y", [1 << 40])], [tensor("w", [1 << 40], b"1234")])))
    for path in ("m.onnx", "w.onnx"):
        for words in (["check"], ["infer"], ["inspect"], ["run"], ["upgrade", "--opset", "21", "-o", "up.onnx"]):
            result = box.run(words[0], path, *words[1:])
            check(f"{path}: {words[0]}", fault_of(result), result.note())
