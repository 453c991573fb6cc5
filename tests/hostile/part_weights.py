"""Archives of PyTorch and safetensors that promise more than they hold: bombs, entries that overlap, names that lead elsewhere, pickles that grow."""

import functools
import json
import os
import struct
import zipfile
import zlib

from box import fault_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOUND = {"m.pt2": "testdata/workers/models/fc2/pytorch/fc2.pt2", "m.pt": "testdata/torchscript/blocks.pt", "w.pt": "testdata/weights/state_dict.pt"}
MODEL = "testdata/weights/gemm.onnxtxt"
GIBIBYTE = 1 << 30


def entries_of(name):
    with zipfile.ZipFile(os.path.join(ROOT, SOUND[name])) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


@functools.cache
def zeros(size, start=b""):
    """So many zeros behind `start`, deflated, and the checksum of all."""
    squeeze, block, crc = zlib.compressobj(1, zlib.DEFLATED, -15), bytes(1 << 20), zlib.crc32(start)
    packed = bytearray(squeeze.compress(start))
    for _ in range(size >> 20):
        packed += squeeze.compress(block)
        crc = zlib.crc32(block, crc)
    return bytes(packed + squeeze.flush()), crc


def archive(entries, bombs=()):
    """A zip file. `bombs`: entries that become this many zeros, deflated; their content, if any, stands before these."""
    out, directory = bytearray(), bytearray()
    for name, data in entries:
        size, method, crc = len(data), 0, zlib.crc32(data)
        if name in dict(bombs):
            size = dict(bombs)[name] + len(data) if name.endswith(".npy") else dict(bombs)[name]
            data, crc = zeros(dict(bombs)[name], data if name.endswith(".npy") else b"")
            method = 8
        encoded = name.encode()
        at = len(out)
        out += struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, method, 0, 0, crc, len(data), size, len(encoded), 0) + encoded + data
        directory += struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, method, 0, 0, crc, len(data), size, len(encoded), 0, 0, 0, 0, 0, at) + encoded
    count = len(entries)
    return bytes(out + directory + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(directory), len(out), 0))


def read_by_all(box, check, name, status=(1, 3)):
    """Every way to read the file ends in time with a reason, and writes nothing."""
    ways = [("check", name), ("convert", name, "out.onnx", "--no-verify")]
    if name.startswith("w"):
        ways = [("convert", os.path.join(ROOT, MODEL), "out.onnx", "--weights", name)]
    for words in ways:
        result = box.run(*words)
        fault = fault_of(result, status=status) or ("a file was written" if os.path.exists(box.path("out.onnx")) else "")
        check(f"{name}: {words[0]}", fault, result.note())


def case_entries_that_unpack_to_gigabytes(box, check):
    for name in SOUND:
        entries = entries_of(name)
        for victim, _ in entries:
            if not victim.endswith((".json", ".pkl", ".py", "version", "byteorder", "/0")):
                continue
            box.put(name, archive(entries, [(victim, 3 * GIBIBYTE)]))
            result = box.run("check", name) if not name.startswith("w") else \
                box.run("convert", os.path.join(ROOT, MODEL), "out.onnx", "--weights", name)
            check(f"{name}: {victim}", fault_of(result), result.note())


def case_arrays_that_unpack_to_more_than_they_say(box, check):
    model = os.path.join(ROOT, MODEL)
    for what, kind, shape, says in (("four numbers", "<f4", "(4,)", "the size of the data"), ("an object", "|O", "()", "an element type")):
        text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        start = b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text
        box.put("w.npz", archive([("weight.npy", start)], [("weight.npy", GIBIBYTE)]))
        for words in (("convert", model, "out.onnx", "--weights", "w.npz"), ("run", model, "-i", "w.npz")):
            result = box.run(*words)
            check(f"{words[0]}: {what}", fault_of(result, memory=120 << 20, cpu=2, status=(1, 2, 3), says=says), result.note())


def case_entries_that_overlap(box, check):
    for name in SOUND:
        data = bytearray(archive(entries_of(name)))
        directory = int.from_bytes(data[-6:-2], "little")
        second = data.index(b"PK\1\2", directory + 4)
        data[second + 42 : second + 46] = bytes(4)  # where the first entry lies
        box.put(name, bytes(data))
        read_by_all(box, check, name)


def case_two_entries_of_one_name(box, check):
    for name in SOUND:
        entries = entries_of(name)
        box.put(name, archive(entries + entries[:1]))
        read_by_all(box, check, name)


def case_names_that_lead_elsewhere(box, check):
    """They name nothing that is read, and nothing is unpacked to a file."""
    for name in SOUND:
        entries = entries_of(name) + [("../../escaped", b"x"), ("/tmp/onnxkit-escaped", b"x"), ("archive/../../escaped", b"x")]
        box.put(name, archive(entries))
        for words in (("check", name), ("convert", name, "out.onnx", "--no-verify")):
            result = box.run(*words)
            escaped = [path for path in (box.path("../../escaped"), box.path("../escaped"), "/tmp/onnxkit-escaped") if os.path.exists(path)]
            check(f"{name}: {words[0]}", fault_of(result) or ", ".join(escaped), result.note())


def with_pickle(name, pickled):
    return archive([(entry, pickled if entry.endswith("data.pkl") else data) for entry, data in entries_of(name)])


def case_pickles_that_grow(box, check):
    doubled = b"\x80\x02]q\0" + b"".join(b"]q" + bytes([i]) + b"(" + b"h" + bytes([i - 1]) + b"h" + bytes([i - 1]) + b"e" for i in range(1, 250)) + b"."
    pickles = {
        "lists that hold the one before twice": doubled,
        "lists in lists": b"\x80\x02" + b"]" * 1_000_000 + b"a" * 999_999 + b".",
        "tuples in tuples": b"\x80\x02)" + b"\x85" * 2_000_000 + b".",
        "a long text that is not there": b"\x80\x02X" + struct.pack("<I", 0xFFFFFFFF) + b"abc.",
        "a number of four gigabytes": b"\x80\x02\x8b" + struct.pack("<I", 0x7FFFFFFF) + b".",
        "marks without an end": b"\x80\x02" + b"(" * 2_000_000 + b".",
        "a list that holds itself": b"\x80\x02]q\0h\0a.",
        "a call": b"\x80\x02cos\nsystem\nX\x0a\0\0\0touch /tmp/\x85R.",
        "nothing on the stack": b"\x80\x02e" + b"R" * 1000 + b".",
        "many places of the memo": b"\x80\x02]" + b"r" + struct.pack("<I", 0xFFFFFFF0) + b".",
    }
    for what, pickled in pickles.items():
        for name in ("m.pt", "w.pt"):
            box.put(name, with_pickle(name, pickled))
            words = ("check", name) if name == "m.pt" else ("convert", os.path.join(ROOT, MODEL), "out.onnx", "--weights", name)
            result = box.run(*words)
            check(f"{name}: {what}", fault_of(result, status=(1, 3)), result.note())


def safetensors(header):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(64)


def case_safetensors_that_lie(box, check):
    huge = 1 << 62
    one = {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]}
    headers = {
        "a tensor behind the file": {"weight": {**one, "data_offsets": [1 << 40, (1 << 40) + 48]}},
        "a tensor that ends before it begins": {"weight": {**one, "data_offsets": [48, 0]}},
        "more elements than 64 bits count": {"weight": {**one, "shape": [huge, huge, 4]}},
        "elements that are not there": {"weight": {**one, "shape": [1 << 40]}},
        "tensors that overlap": {"weight": one, "bias": {"dtype": "F32", "shape": [3], "data_offsets": [4, 16]}},
        "negative sizes": {"weight": {**one, "shape": [-4, -3]}},
        "a type of its own": {"weight": {**one, "dtype": "F3"}},
        "deep JSON": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "no JSON": b"{" * 40,
    }
    for what, header in headers.items():
        box.put("w.safetensors", safetensors(header))
        result = box.run("convert", os.path.join(ROOT, MODEL), "out.onnx", "--weights", "w.safetensors")
        check(what, fault_of(result, status=(1, 3)), result.note())
    for size in (0, 1 << 31, (1 << 63) - 1, (1 << 64) - 1):
        box.put("w.safetensors", struct.pack("<Q", size) + b"{}" + bytes(64))
        result = box.run("convert", os.path.join(ROOT, MODEL), "out.onnx", "--weights", "w.safetensors")
        check(f"a header of {size} bytes", fault_of(result, status=(1, 2, 3)), result.note())
