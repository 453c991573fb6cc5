"""Archives and output files: names that lead elsewhere, interrupted and limited writing."""

import os
import resource
import signal
import struct
import time
import zipfile

from box import fault_of
from onnx_bytes import field, graph, model, node, one_node, tensor, value_info
from part_memory import npy

NAMES = ["../../up", "/absolute", "a/../../b", "..", "nul\0behind", "C:\\windows", "a%2Fb", "plain/name", "line\nbreak", "ok..ok"]


def case_names_of_members(box, check):
    outputs = [value_info(name, [2]) for name in NAMES]
    nodes = [node("Neg", ["x"], [name]) for name in NAMES]
    box.put("m.onnx", model(graph(nodes, [value_info("x", [2])], outputs)))
    result = box.run("run", "m.onnx", "-o", "out.npz")
    check("run -o", fault_of(result, status=0), result.note())
    with zipfile.ZipFile(box.path("out.npz")) as archive:
        members = [info.filename for info in archive.infolist()]
    check("one member each", "" if len(set(members)) == len(NAMES) else str(members))
    for member in members:
        path = os.path.normpath(member)
        leaves = member.startswith("/") or path.startswith("..") or ".." in member.split("/") or "\\" in member or "\0" in member
        check(f"member {member!r}", "leads out of the folder" if leaves else "")
    back = model(graph([node("Sum", NAMES, ["y"])], outputs, [value_info("y", [2])]))
    box.put("back.onnx", back)
    result = box.run("run", "back.onnx", "-i", "out.npz", "--given-only")
    check("the names come back", fault_of(result, status=0), result.note())


def case_many_members(box, check):
    count = 40_000
    box.put("m.onnx", model(graph([node("Relu", ["x0"], ["y"])], [value_info(f"x{i}", [1]) for i in range(count)], [value_info("y", [1])])))
    with zipfile.ZipFile(box.path("x.npz"), "w") as archive:
        data = npy([1]) + struct.pack("<f", 1)
        for i in range(count):
            archive.writestr(f"x{i}.npy", data)
    result = box.run("run", "m.onnx", "-i", "x.npz")
    check("run", fault_of(result, status=0, cpu=2), result.note())


def case_interrupted_writing(box, check):
    size = 1 << 30
    with open(box.path("w.bin"), "wb") as file:
        file.truncate(size)
    box.put("m.onnx", model(graph([node("Relu", ["w"], ["y"])], [], [value_info("y", [size // 4])],
                                  [tensor("w", [size // 4], external={"location": "w.bin"})])))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP):
        os.makedirs(box.path(f"out{number}/x"), exist_ok=True)
        child = box.start("convert", "m.onnx", f"out{number}/m.onnx", "--embed")
        time.sleep(0.2)
        alive = child.poll() is None
        child.send_signal(number)
        child.wait()
        left = [name for name in os.listdir(box.path(f"out{number}")) if name != "x"]
        check(f"{signal.Signals(number).name}, while writing: {alive}", f"leaves {left}" if alive and left else "")


def case_size_limit(box, check):
    box.put("m.onnx", model(graph([node("Relu", ["w"], ["y"])], [], [value_info("y", [100_000])], [tensor("w", [100_000], bytes(400_000))])))
    bound = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    for words in (["convert", "m.onnx", "out.onnx"], ["convert", "m.onnx", "out2.onnx", "--external"], ["run", "m.onnx", "-o", "out.npz"],
                  ["convert", "m.onnx", "out.onnxtxt"], ["upgrade", "m.onnx", "--opset", "21", "-o", "up.onnx"]):
        result = box.run(*words, preexec=bound)
        check(" ".join(words[:3:2]), fault_of(result, status=3, says="cannot-write"), result.note())
    left = [name for name in os.listdir(box.folder) if name != "m.onnx"]
    check("nothing is left", f"{left} are" if left else "")
