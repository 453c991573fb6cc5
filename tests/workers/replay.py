#!/usr/bin/env python3
"""A worker that answers from a fixture, whatever ran it: ONNXKIT_FIXTURE=testdata/workers/fixtures/torch.json. Requests must come as
recorded (paths by their end, inputs by their bytes); any other one is refused."""
import base64
import json
import mmap
import os
import pathlib
import socket
import struct


def receive(channel):
    header, descriptors, _, _ = socket.recv_fds(channel, 4, 64)
    if len(header) < 4:
        raise SystemExit
    data = b""
    for descriptor in descriptors:
        with mmap.mmap(descriptor, 0, mmap.MAP_PRIVATE, mmap.PROT_READ) as segment:
            data += segment[:]
        os.close(descriptor)
    return json.loads(channel.recv(struct.unpack("<I", header)[0], socket.MSG_WAITALL)), data


def send(channel, message, parts):
    descriptors = []
    for part in parts:
        descriptors.append(os.memfd_create("replay"))
        with os.fdopen(os.dup(descriptors[-1]), "wb") as file:
            file.write(part)
    body = json.dumps(message).encode()
    data = struct.pack("<I", len(body)) + body
    sent = socket.send_fds(channel, [data], descriptors)
    if sent < len(data):
        channel.sendall(data[sent:])
    for descriptor in descriptors:
        os.close(descriptor)


def fits(exchange, request, data):
    """Whether this is what was asked when the fixture was recorded."""
    fields = exchange["fields"]
    if exchange["op"] != request["op"]:
        return False
    if request["op"] == "load":
        return request["path"].endswith(fields["path"]) and request["format"] == fields["format"] and request["options"] == fields["options"]
    if request["op"] == "run":
        recorded = base64.b64decode(exchange["segment"])
        return request["model"] == fields["model"] and bytes_of(request["inputs"], data) == bytes_of(fields["inputs"], recorded)
    return True


def bytes_of(values, data):
    if isinstance(values, list):
        return [bytes_of(value, data) for value in values]
    if isinstance(values, dict) and "bytes" in values:
        return values["type"], values["shape"], data[values.get("offset", 0):][:values["bytes"]]
    return {key: bytes_of(value, data) for key, value in values.items()} if isinstance(values, dict) else values


def main():
    exchanges = json.loads(pathlib.Path(os.environ["ONNXKIT_FIXTURE"]).read_text())["exchanges"]
    channel = socket.socket(fileno=int(os.environ["ONNXKIT_WORKER_FD"]))
    while True:
        request, data = receive(channel)
        found = next((exchange for exchange in exchanges if fits(exchange, request, data)), None)
        if found:
            send(channel, found["answer"] | {"id": request["id"]}, [base64.b64decode(part) for part in found["data"]])
        else:
            error = {"kind": "invalid", "message": f"the fixture has no such {request['op']}", "trace": ""}
            send(channel, {"id": request["id"], "ok": False, "error": error}, [])
        if request["op"] == "quit":
            return


if __name__ == "__main__":
    main()
