#!/usr/bin/env python3
"""A worker that gives back its inputs, until it is told to go wrong.

    fake.py [FAULT[@OP]] [TOKEN]     FAULT happens in the answer to the request OP (default run); TOKEN only marks the process
    ONNXKIT_FAKE_ARITHMETIC          the arithmetic that it says it computes in

`load` takes the option "outputs": the names of the model's outputs, with blanks between them. `run` gives the inputs back under these names.
"""
import array
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import time

FAULT, _, AT = (sys.argv[1] if len(sys.argv) > 1 else "none").partition("@")
AT = AT or "run"
ARITHMETIC = os.environ.get("ONNXKIT_FAKE_ARITHMETIC")  # that it says it computes in
FOREVER = 600

channel = socket.socket(fileno=int(os.environ["ONNXKIT_WORKER_FD"]))
outputs = []


def receive(size, descriptors):
    data = b""
    while len(data) < size:
        part, more, _, _ = socket.recv_fds(channel, size - len(data), 64)
        if not part:
            sys.exit(0)
        data += part
        descriptors += more
    return data


def send_bytes(data, descriptors=()):
    sent = socket.send_fds(channel, [data], list(descriptors))
    channel.sendall(data[sent:])


def framed(body):
    return struct.pack("<I", len(body)) + body


def send(answer, descriptors=()):
    if descriptors:
        answer.setdefault("segments", len(descriptors))
    send_bytes(framed(json.dumps(answer).encode()), descriptors)


def segment(data, sealed=False):
    descriptor = os.memfd_create("fake", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    while data:
        data = data[os.write(descriptor, data):]
    if sealed:
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)
    return descriptor


def ports(names):
    return [{"name": name, "kind": "tensor", "type": None, "shape": None} for name in names]


def answer_of(request, descriptors):
    """The right answer and its segments."""
    if request["op"] == "hello":
        options = {"outputs": {"help": "names of the outputs", "default": ""},
                   "mode": {"help": "how", "default": "slow", "values": ["slow", "fast"]}}
        return {"protocol": 1, "runtime": "fake", "version": "1.2.3", "devices": ["cpu", "fpga"], "formats": ["onnx", "fake"],
                "options": options, "opsets": {"": 23, "ai.onnx.ml": 4}}, []
    if request["op"] == "load":
        outputs[:] = request["options"].get("outputs", "y").split()
        loaded = {"model": 7, "inputs": ports(outputs), "outputs": ports(outputs), "warnings": ["it is a fake"], "seconds": 0.25}
        return loaded | ({"arithmetic": ARITHMETIC} if ARITHMETIC else {}), []
    if request["op"] == "run":
        by_name = dict(zip(outputs, request["inputs"]))
        chosen = request["outputs"] if request["outputs"] is not None else outputs
        values = [by_name[name] | {"name": name} for name in chosen]
        return {"outputs": values, "samples": [[0.5, 0.25]] * request["repeat"]}, descriptors
    return {}, []


# ---- what goes wrong: each takes (request, answer, descriptors) and gives the two to send, or None when it has sent all itself

def change(**members):
    return lambda _, answer, descriptors: (answer | members, descriptors)


def change_late(members):
    """The same with members that take long to make."""
    return lambda _, answer, descriptors: (answer | members(), descriptors)


def first_output(**members):
    def spoil(_, answer, descriptors):
        answer["outputs"][0] |= members
        return answer, descriptors
    return spoil


def output(value, data=b"", count=1, files=None):
    """The first output is another value, over a segment of its own."""
    def spoil(_, answer, _descriptors):
        answer["outputs"][0] = {"name": answer["outputs"][0]["name"]} | value
        return answer, files() if files else [segment(data)] * count
    return spoil


def raw(make):
    """Bytes in place of the answer."""
    def spoil(request, answer, descriptors):
        send_bytes(make(json.dumps({"id": request["id"], "ok": True} | answer).encode()))
    return spoil


def then(act):
    """Something happens before the right answer is sent."""
    def spoil(_, answer, descriptors):
        act()
        return answer, descriptors
    return spoil


def error(kind, **beside):
    fields = {"kind": kind, "message": f"a fake error of kind {kind}", "trace": "first line\nlast line\n"}
    return lambda request, *_: ({"id": request["id"], "ok": False, "error": fields} | beside, [])


def flood(stream):
    """100 MB of lines."""
    def act():
        block = (b"x" * 99 + b"\n") * 10000
        for _ in range(100):
            left = block
            while left:
                left = left[os.write(stream, left):]
        os.write(stream, b"the last line\n")
    return act


def mid_frame(act):
    def spoil(request, answer, descriptors):
        data = framed(json.dumps({"id": request["id"], "ok": True} | answer | {"padding": "x" * 300000}).encode())
        send_bytes(data[:200000])
        act()
    return spoil


def grandchild(act):
    """A child that holds all descriptors lives on while the worker acts."""
    def both():
        if os.fork() == 0:
            time.sleep(FOREVER)
            os._exit(0)
        act()
    return both


def eat():
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 10) * (4 << 10)))
        time.sleep(0.005)


def eat_in_child():
    if os.fork() == 0:
        eat()
    time.sleep(FOREVER)


def stall():
    time.sleep(FOREVER)


def ignore_term():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stall()


def shrink(_, answer, descriptors):
    data = bytes(1 << 20)
    file = segment(data)
    answer["outputs"][0] |= {"type": 2, "shape": [len(data)], "segment": 0, "offset": 0, "bytes": len(data)}
    send({"id": answer["id"], "ok": True} | answer, [file])
    os.ftruncate(file, 0)
    os.pwrite(file, b"\xff", 0)


def trickle(request, answer, descriptors):
    send_bytes(struct.pack("<I", 1000))
    while True:
        send_bytes(b" ")
        time.sleep(0.02)


def close_and_live():
    os.close(channel.detach())
    stall()


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def surroundings():
    """Tells open descriptors, blocked signals and what stands on standard input."""
    descriptors = sorted(int(name) for name in os.listdir("/proc/self/fd"))
    leads = os.getpid() == os.getpgid(0) == os.getsid(0)
    print(descriptors[:-1], signal.pthread_sigmask(signal.SIG_BLOCK, []), sys.stdin.read().encode(), leads, flush=True)


def hole():
    descriptor = os.memfd_create("fake")
    os.ftruncate(descriptor, 1 << 40)
    return [descriptor]


FLOAT = {"type": 1, "shape": [2], "segment": 0, "offset": 0, "bytes": 8}
STRINGS = {"type": 8, "shape": [2], "segment": 0, "offset": 0, "bytes": 27}
KEYS = {"type": 7, "shape": [1], "segment": 0, "offset": 0, "bytes": 8}


def strings(*ends):
    return output(STRINGS, struct.pack("<3Q", *ends) + b"abc")


FAULTS = {
    "none": lambda _, answer, descriptors: (answer, descriptors),
    "copied": lambda _, answer, descriptors: (answer, [segment(mmap.mmap(file, 0, mmap.MAP_PRIVATE, mmap.PROT_READ)[:]) for file in descriptors]),
    # the frame
    "wrong-id": change(id=99),
    "text-id": change(id="1"),
    "no-id": lambda _, answer, descriptors: ({key: value for key, value in answer.items() if key != "id"}, descriptors),
    "ok-text": change(ok="yes"),
    "list": raw(lambda body: framed(b"[" + body + b"]")),
    "no-json": raw(lambda body: framed(body[:-1])),
    "garbage": raw(lambda body: b"Loading model...\nDone.\n"),
    "no-utf8": raw(lambda body: framed(body.replace(b'"ok"', b'"o\xff": 1, "ok"'))),
    "deep": raw(lambda body: framed(b'{"a":' + b"[" * 1000000 + b"]" * 1000000 + b"}")),
    "empty": raw(lambda body: framed(b"")),
    "huge-length": raw(lambda body: b"\xff\xff\xff\x7f" + body),
    "cut-then-exit": mid_frame(lambda: os._exit(0)),
    "cut-then-stall": mid_frame(stall),
    "cut-then-kill": mid_frame(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "trickle": trickle,
    "twice": lambda request, answer, descriptors: send({"id": request["id"], "ok": True} | answer, descriptors) or (answer, descriptors),
    "protocol-2": change(protocol=2),
    "protocol-text": change(protocol="1"),
    "refuses-protocol": error("invalid", protocol=2),
    "devices-text": change(devices="cpu"),
    "options-list": change(options=["a"]),
    "options-many": change_late(lambda: {"options": {f"o{i}": {} for i in range(100_000)}}),
    "opsets-many": change_late(lambda: {"opsets": {f"d{i}": 1 for i in range(100_000)}}),
    "device-long": change(devices=["d" * 1_000_000]),
    "ports-many": change_late(lambda: {"inputs": [{"name": f"x{i}", "type": 1} for i in range(300_000)]}),
    "ports-long": change(inputs=[{"name": "x" * 1_000_000, "type": 1}]),
    "warnings-many": change(warnings=["w"] * 100_000),
    "ports-object": change(inputs={}),
    "port-no-name": change(outputs=[{"type": 1}]),
    "port-type-99": change(outputs=[{"name": "y", "type": 99}]),
    "port-negative": change(inputs=[{"name": "y", "type": 1, "shape": [-1]}]),
    "model-negative": change(model=-1),
    "seconds-negative": change(seconds=-1),
    "device-bytes": change(device_bytes=3 << 20),
    "device-bytes-negative": change(device_bytes=-1),
    # descriptors
    "unannounced": lambda _, answer, descriptors: (answer | {"segments": 0}, [segment(bytes(64))]),
    "announced": change(segments=3),
    "too-many": lambda _, answer, descriptors: (answer, descriptors * 65),
    "pipe": output(FLOAT, files=lambda: [os.pipe()[0]]),
    "plain-file": output(FLOAT, files=lambda: [os.open(__file__, os.O_RDONLY)]),
    "hole": output({"type": 2, "shape": [1 << 40], "segment": 0, "offset": 0, "bytes": 1 << 40}, files=hole),
    "small": output(FLOAT, bytes(4)),
    "no-segment": output(FLOAT, count=0),
    "shrink": shrink,
    # values
    "other-name": first_output(name="z"),
    "too-few": change(outputs=[]),
    "one-more": lambda _, answer, descriptors: (answer | {"outputs": answer["outputs"] * 2}, descriptors),
    "text-output": change(outputs=["y"]),
    "kind": first_output(kind="tensors"),
    "type-0": first_output(type=0),
    "type-99": first_output(type=99),
    "type-text": first_output(type="float"),
    "shape-other": first_output(shape=[1000]),
    "shape-negative": first_output(shape=[-1]),
    "shape-float": first_output(shape=[2.0]),
    "shape-overflow": first_output(shape=[1 << 40, 1 << 40]),
    "shape-2^64": first_output(shape=[1 << 64]),
    "bytes-more": first_output(bytes=1 << 20),
    "bytes-less": first_output(bytes=4),
    "bytes-2^63": first_output(bytes=(1 << 63) - 1),
    "offset-beyond": first_output(offset=1 << 20),
    "offset-overflow": first_output(offset=(1 << 63) - 64),
    "offset-negative": first_output(offset=-64),
    "offset-odd": output(FLOAT | {"offset": 4}, bytes(64)),
    "segment-1": first_output(segment=1),
    "segment-negative": first_output(segment=-1),
    "strings-good": strings(0, 1, 3),
    "strings-order": strings(0, 4, 3),
    "strings-beyond": strings(0, 1, 1 << 40),
    "strings-start": strings(1, 2, 3),
    "strings-short": strings(0, 1, 2),
    "strings-many": output(STRINGS | {"shape": [(1 << 63) - 1]}, struct.pack("<3Q", 0, 1, 3) + b"abc"),
    "item-none": output({"kind": "sequence", "type": 1, "items": [{"kind": "none"}]}),
    "optional-two": output({"kind": "optional", "type": 1, "items": [FLOAT, FLOAT]}, bytes(8)),
    "map-uneven": output({"kind": "map", "keys": KEYS, "values": FLOAT}, bytes(8)),
    "map-real-keys": output({"kind": "map", "keys": FLOAT, "values": FLOAT}, bytes(8)),
    "map-no-values": output({"kind": "map", "keys": KEYS}, bytes(8)),
    "no-samples": change(samples=[]),
    "sample-huge": change(samples=[[1e300, 1e300]]),
    "sample-text": change(samples=[["1", None]]),
    "sample-nan": change(samples=[[float("nan"), None]]),
    "no-cpu": lambda request, answer, descriptors: (answer | {"samples": [[0.5, None]] * request["repeat"]}, descriptors),
    # errors
    **{kind: error(kind) for kind in ("unsupported", "invalid", "failed", "memory", "unavailable", "strange")},
    "traced": change(ok=False, error={"kind": "failed", "message": "no kernel\n  for Blur", "trace": "Traceback:\n  File \"runtime.py\"\nruntime.Error: no kernel\n  for Blur\n"}),
    "error-long": change_late(lambda: {"ok": False, "error": {"kind": "failed", "message": "\u00e9" * 4_000_000, "trace": "t" * 4_000_000}}),
    "error-no-message": change(ok=False, error={"kind": "failed"}),
    "error-list": change(ok=False, error=["failed"]),
    # what happens to the process
    "flood-out": then(flood(1)),
    "flood-err": then(flood(2)),
    "surroundings": then(surroundings),
    "prints": then(lambda: os.write(1, b"to stdout\nprogress 1 %\rprogress 100 %\n")),
    "stall": then(stall),
    "exit-3": then(lambda: (os.write(2, b"no more paper\n"), os._exit(3))),
    "exit-0": then(lambda: os._exit(0)),
    "raise": then(lambda: 1 // 0),
    "segv": then(crash),
    "abort": then(os.abort),
    "kill": then(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "grandchild-exit": then(grandchild(lambda: os._exit(4))),
    "grandchild-stall": then(grandchild(stall)),
    "grandchild-lives": then(grandchild(lambda: None)),
    "ignore-term": then(ignore_term),
    "eat": then(eat),
    "eat-in-child": then(eat_in_child),
    "close": then(close_and_live),
}

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
while True:
    files = []
    request = json.loads(receive(struct.unpack("<I", receive(4, files))[0], files))
    answer, to_send = answer_of(request, files)
    answer = {"id": request["id"], "ok": True} | answer
    spoilt = FAULTS[FAULT](request, answer, to_send) if request["op"] == AT else (answer, to_send)
    if spoilt is not None:
        send(*spoilt)
    if request["op"] == "quit":
        break
    for file in files:
        os.close(file)
