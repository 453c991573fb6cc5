#!/usr/bin/env python3
"""The protocol itself, as tools/workers/_protocol.py and the example of docs/worker-protocol.md speak it: every type and kind of value
there and back, requests that are wrong, and the worker's end."""
import array
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile

from host import Answer, Host, Segment

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from suite import Suite

STRING = 8
BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8,
        21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2, 27: 6, 28: 6}
tests = []


def test(function):
    tests.append(function)
    return function


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def model_file(ports):
    file = tempfile.NamedTemporaryFile("w", suffix=".json")
    json.dump(ports, file)
    file.flush()
    return file


class Echo(Host):
    """A greeted worker with a model of these ports."""

    def __init__(self, ports, fault="none"):
        super().__init__(HERE / "echo.py")
        self.request("hello", protocol=1)
        with model_file(ports) as file:
            self.model = self.request("load", path=file.name, format="echo", options={"fault": fault})["model"]


def refused(kind, function, *arguments, **fields):
    try:
        function(*arguments, **fields)
    except Answer as error:
        expect(error.kind == kind, f"{error} instead of {kind}")
        return error
    raise AssertionError(f"no error of kind {kind}")


def strings(texts):
    ends = [0]
    for text in texts:
        ends.append(ends[-1] + len(text))
    return struct.pack(f"<{len(ends)}Q", *ends) + b"".join(texts)


def tensors(code):
    """Random contents in shapes that packing finds hard."""
    generator = random.Random(code)
    for shape in ([], [0], [1], [7], [3, 5], [2, 0, 3], [4, 4, 9]):
        count = 1
        for size in shape:
            count *= size
        bits = count * BITS[code]
        data = bytearray(generator.randbytes((bits + 7) // 8))
        if bits % 8:
            data[-1] &= (1 << bits % 8) - 1  # bits beyond the last element are zero
        yield code, shape, bytes(data)


@test
def every_element_type():
    with Echo([{"name": "x"}]) as host:
        for code in BITS:
            for tensor in tensors(code):
                expect(host.run(host.model, {"x": tensor})[0] == {"x": tensor}, f"type {code}, shape {tensor[1]}")


@test
def booleans():
    with Echo([{"name": "x", "type": 9}]) as host:
        tensor = 9, [3], b"\1\0\1"
        expect(host.run(host.model, {"x": tensor})[0] == {"x": tensor}, "booleans")


@test
def texts():
    with Echo([{"name": "x", "type": STRING}]) as host:
        for shape, parts in (([0], []), ([], ["ж".encode()]), ([2, 2], [b"", b"a\0b", "日本".encode(), b"\xff no UTF-8"])):
            tensor = STRING, shape, strings(parts)
            expect(host.run(host.model, {"x": tensor})[0] == {"x": tensor}, f"strings {parts}")


@test
def other_kinds():
    one, two = (1, [1], struct.pack("<f", 1)), (1, [2], struct.pack("<2f", 2, 3))
    values = {"s": ("sequence", 1, [one, two]), "e": ("sequence", 1, []), "o": ("optional", 1, [one]), "n": ("optional", 1, []),
              "m": ("map", (STRING, [2], strings([b"a", b"bc"])), two), "k": ("map", (7, [1], struct.pack("<q", -4)), one)}
    kinds = {"s": "sequence", "e": "sequence", "o": "optional", "n": "optional", "m": "map", "k": "map"}
    ports = [{"name": name, "kind": kind, "type": None if kind == "map" else 1, "map_type": 1 if kind == "map" else None}
             for name, kind in kinds.items()]
    with Echo(ports) as host:
        results = host.run(host.model, values)[0]
        for name, value in values.items():
            expect(results[name] == value, f"{name}: {results[name]} instead of {value}")


@test
def many_tensors_and_repeats():
    ports = [{"name": f"x{place}", "type": 2, "shape": [None]} for place in range(300)]
    inputs = {f"x{place}": (2, [place], bytes(range(place % 256)) + bytes(place - place % 256)) for place in range(300)}
    with Echo(ports) as host:
        results, samples = host.run(host.model, inputs, repeat=5, warmup=2)
        expect(results == inputs, "300 tensors")
        expect(len(samples) == 5 and all(wall > 0 and cpu >= 0 for wall, cpu in samples), f"samples {samples}")
        results, _ = host.run(host.model, inputs, outputs=["x7", "x2"])
        expect(list(results) == ["x7", "x2"], "outputs in the order asked for")


@test
def inputs_that_do_not_fit():
    x = 1, [2], bytes(8)
    with Echo([{"name": "x", "type": 1, "shape": ["n"]}, {"name": "y", "type": 1, "optional": True}]) as host:
        def run(inputs, model=host.model, **fields):
            return host.run(model, inputs, **({"outputs": ["x"]} | fields))
        expect(list(run({"x": x})[0]) == ["x"], "an optional input left out")
        expect(list(run({"x": x, "y": None})[0]) == ["x"], "an optional input told as none")
        for inputs in ({}, {"x": None}, {"x": x, "z": x}, {"x": (7, [1], bytes(8))}, {"x": (1, [1, 2], bytes(8))}, {"x": ("sequence", 1, [x])},
                       {"x": (1, [3], bytes(8))}, {"x": (99, [2], bytes(8))}, {"x": (1, [-2], b"")}, {"x": (STRING, [2], bytes(8))}):
            refused("invalid", run, inputs)
        refused("invalid", run, {"x": x}, outputs=["z"])
        refused("invalid", run, {"x": x}, model=77)
        expect(list(run({"x": x})[0]) == ["x"], "it goes on")


@test
def segments_that_do_not_fit():
    with Echo([{"name": "x", "type": 1}]) as host:
        segment = Segment()
        value = {"name": "x"} | segment.pack((1, [2], bytes(8)))
        for change in ({"segment": 1}, {"segment": -1}, {"offset": 64}, {"offset": -8}, {"bytes": 1 << 62, "shape": [1 << 60]}):
            descriptor = segment.descriptor()
            refused("invalid", host.request, "run", segment=descriptor, model=host.model, inputs=[value | change], outputs=None, repeat=1)
            os.close(descriptor)


@test
def kinds_of_errors():
    for fault in ("memory", "unsupported", "failed"):
        with Echo([], fault) as host:
            error = refused(fault, host.run, host.model, {})
            expect(error.message == f"asked for: {fault}", error.message)
            expect("Traceback" in error.answer["error"]["trace"], "a trace")
    with Echo([], "exit") as host:
        refused("failed", host.run, host.model, {})


@test
def requests_that_are_wrong():
    with Host(HERE / "echo.py") as host:
        refused("invalid", host.request, "load", path=__file__, format="echo", options={})
        expect(refused("invalid", host.request, "hello", protocol=2).answer["protocol"] == 1, "its own version")
        host.request("hello", protocol=1)
        refused("invalid", host.request, "dance")
        refused("unsupported", host.request, "load", path=__file__, format="onnx", options={})
        refused("invalid", host.request, "load", path="no such", format="echo", options={})
        refused("invalid", host.request, "load", path=__file__, format="echo", options={"fault": "other"})
        refused("invalid", host.request, "unload", model=1)
        refused("invalid", host.request, "unload")
        refused("failed", host.request, "load", path=__file__, format="echo", options={})
        host.request("quit")
    expect(host.process.returncode == 0, f"exit status {host.process.returncode}")


@test
def ends_when_the_socket_closes():
    with Echo([]) as host:
        pass
    expect(host.process.returncode == 0 and not host.log, f"exit status {host.process.returncode}: {host.log}")


@test
def dies_of_garbage():
    with Echo([]) as host:
        host.socket.sendall(struct.pack("<I", 0xFFFFFFFF))
        try:
            host.receive()
            raise AssertionError("an answer")
        except (EOFError, ConnectionResetError):
            pass
    expect(host.process.returncode not in (0, -signal.SIGKILL), f"exit status {host.process.returncode}")


@test
def tells_who_starts_it():
    done = subprocess.run([sys.executable, "-B", str(HERE / "echo.py")], capture_output=True, text=True)
    expect(done.returncode == 1 and "started by onnxkit" in done.stderr, done.stderr)


@test
def adapters_do_not_shadow_packages():
    """torch.py lies beside onnxruntime.py: neither may be imported as the package."""
    for name in ("torch", "onnxruntime", "tensorflow", "openvino"):
        with Host(HERE.parents[1] / "tools/workers" / f"{name}.py") as host:
            try:
                host.request("hello", protocol=1)
            except Answer as error:
                expect(error.kind == "unavailable" and "no module named" in error.message, str(error))


@test
def the_example():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, Host(HERE / "example.py") as host:
        file.write('{"scale": 2, "offset": 1}')
        file.flush()
        expect(host.request("hello", protocol=1)["runtime"] == "example", "hello")
        for option, sign in (("no", 1), ("yes", -1)):
            model = host.request("load", path=file.name, format="example", options={"negate": option})["model"]
            results, samples = host.run(model, {"x": (1, [3], array.array("f", [1, 2, 3]).tobytes())}, repeat=2, warmup=1)
            expect(results == {"y": (1, [3], array.array("f", [3 * sign, 5 * sign, 7 * sign]).tobytes())}, f"{results}")
            expect(len(samples) == 2, f"{samples}")
        refused("failed", host.run, 9, {})
        host.request("unload", model=model)
        host.request("quit")
    expect(host.process.returncode == 0, host.log)


def main():
    suite = Suite()
    for function in tests:
        try:
            function()
            suite.check(function.__name__, "")
        except Exception as error:
            suite.check(function.__name__, f"{type(error).__name__}: {error}")
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
