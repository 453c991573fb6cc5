"""The host's side of docs/worker-protocol.md, as small as tests need it. Tensors are (type, shape, bytes), as TensorProto packs them."""
import json
import mmap
import os
import socket
import struct
import subprocess
import sys
import tempfile


class Answer(Exception):
    """An answer that is an error."""

    def __init__(self, answer):
        error = answer["error"]
        super().__init__(f"{error['kind']}: {error['message']}")
        self.kind, self.message, self.answer = error["kind"], error["message"], answer


class Host:
    """A started worker."""

    def __init__(self, program, python=sys.executable, environment=None):
        ours, theirs = socket.socketpair()
        command = [python, "-B", str(program)] if str(program).endswith(".py") else [str(program)]
        variables = os.environ | {"ONNXKIT_WORKER_FD": str(theirs.fileno())} | (environment or {})
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, env=variables, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        theirs.close()
        ours.settimeout(300)
        self.socket, self.number = ours, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with self.output:
            self.output.seek(0)
            self.log = self.output.read().decode(errors="replace")

    def request(self, op, segment=None, **fields):
        """The answer, its segments opened under "data"; Answer is raised for an error."""
        self.number += 1
        message = {"id": self.number, "op": op} | fields | ({} if segment is None else {"segments": 1})
        self.send(json.dumps(message).encode(), segment)
        answer = self.receive()
        if answer["id"] != self.number:
            raise ValueError(f"an answer to request {answer['id']} instead of {self.number}")
        if not answer["ok"]:
            raise Answer(answer)
        return answer

    def send(self, body, segment=None):
        data = struct.pack("<I", len(body)) + body
        sent = socket.send_fds(self.socket, [data], [] if segment is None else [segment])
        if sent < len(data):
            self.socket.sendall(data[sent:])

    def receive(self):
        descriptors = []
        size = struct.unpack("<I", self.read(4, descriptors))[0]
        answer = json.loads(self.read(size, descriptors))
        if answer.get("segments", 0) != len(descriptors):
            raise ValueError(f"{len(descriptors)} segments came, the message says {answer.get('segments', 0)}")
        answer["data"] = []
        for descriptor in descriptors:
            with mmap.mmap(descriptor, 0, mmap.MAP_PRIVATE, mmap.PROT_READ) as segment:
                answer["data"].append(segment[:])
            os.close(descriptor)
        return answer

    def read(self, size, descriptors):
        data = b""
        while len(data) < size:
            part, more, _, _ = socket.recv_fds(self.socket, size - len(data), 64)
            if not part:
                raise EOFError("the worker is gone")
            data += part
            descriptors += more
        return data

    def request_with(self, op, model, inputs, fields):
        """A request with values."""
        segment = Segment()
        values = [{"name": name} | segment.pack(value) for name, value in inputs.items()]
        descriptor = segment.descriptor()
        try:
            return self.request(op, segment=descriptor, model=model, inputs=values, **({"outputs": None, "repeat": 1, "warmup": 0} | fields))
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def profile(self, model, inputs, **fields):
        return self.request_with("profile", model, inputs, fields)

    def run(self, model, inputs, **fields):
        """Runs on {name: value}; gives {name: value} and the samples. A value is as `pack` takes it."""
        answer = self.request_with("run", model, inputs, fields)
        return {output["name"]: unpack(output, answer["data"]) for output in answer["outputs"]}, answer["samples"]


class Segment:
    """Collects the bytes of values. A tensor is (type, shape, bytes), ("sequence", type, [values]), ("optional", type, [values]) or
    ("map", keys, values) are what holds them, None is an input left out."""

    def __init__(self):
        self.data = bytearray()

    def pack(self, value):
        if value is None:
            return {"kind": "none"}
        if value[0] in ("sequence", "optional"):
            return {"kind": value[0], "type": value[1], "items": [self.pack(item) for item in value[2]]}
        if value[0] == "map":
            return {"kind": "map", "keys": self.pack(value[1]), "values": self.pack(value[2])}
        element_type, shape, data = value
        self.data += bytes(-len(self.data) % 64)
        message = {"type": element_type, "shape": list(shape), "segment": 0, "offset": len(self.data), "bytes": len(data)}
        self.data += data
        return message

    def descriptor(self):
        if not self.data:
            return None
        descriptor = os.memfd_create("values")
        os.truncate(descriptor, len(self.data))
        with mmap.mmap(descriptor, len(self.data)) as target:
            target[:] = bytes(self.data)
        return descriptor


def unpack(message, segments):
    kind = message.get("kind", "tensor")
    if kind in ("sequence", "optional"):
        return kind, message["type"], [unpack(item, segments) for item in message["items"]]
    if kind == "map":
        return kind, unpack(message["keys"], segments), unpack(message["values"], segments)
    offset, size = message["offset"], message["bytes"]
    if offset % 64:
        raise ValueError(f"offset {offset} is not aligned")
    data = segments[message["segment"]][offset:offset + size] if size else b""
    if len(data) != size:
        raise ValueError("a tensor lies outside of its segment")
    return message["type"], message["shape"], data
