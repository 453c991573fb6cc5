#!/usr/bin/env python3
"""ONNX Runtime with CUDA for a machine that nothing but small folders reach, as a peer of scripts/gpu_check.

    gpu_peers.py pack WHEEL FOLDER [--architecture 90]    FOLDER/onnxruntime.1of1 ...: parts of at most 60 MiB, and this script beside them
    gpu_peers.py unpack FOLDER TARGET                     there, once for each part that came: its libraries in TARGET when all parts are there

WHEEL is the file of the package onnxruntime-gpu, of any Python: only its shared libraries are taken, for `-b onnxruntime-lib:provider=cuda`.
A program of CUDA comes with machine code for many architectures. That of all others than the machine's is overwritten with zeros, which compress to
nothing; headers and places stay as they are, so the driver chooses as before. What the libraries need of NVIDIA's is not packed.
"""
import argparse
import collections
import pathlib
import shutil
import struct
import sys
import tarfile
import tempfile
import zipfile

PART_BYTES = 60 << 20
NAME = "onnxruntime"
TAKEN = ("libonnxruntime.so", "libonnxruntime_providers_cuda.so", "libonnxruntime_providers_shared.so")
SECTION = ".nv_fatbin"
MAGIC = 0xBA55ED50
PTX, MACHINE_CODE = 1, 2

Entry = collections.namedtuple("Entry", "kind architecture begin size")


def section_of(data, wanted):
    """Begin and size of a section of an ELF file of 64 bits; None: it has none."""
    if data[:5] != b"\x7fELF\x02":
        raise SystemExit("this is no ELF file of 64 bits")
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * place) for place in range(count)]
    for name, _, _, _, begin, length in headers:
        start = headers[names][4] + name
        if bytes(data[start:data.index(0, start)]).decode() == wanted:
            return begin, length
    return None


def containers_of(data, begin, size):
    """The entries of each container of programs, which lie one behind the other with zeros between them."""
    place, end = begin, begin + size
    while place < end:
        if data[place:place + 8] == bytes(8):
            place += 8
            continue
        magic, _, header, length = struct.unpack_from("<IHHQ", data, place)
        inside, stop = place + header, place + header + length
        if magic != MAGIC or stop > end:
            raise SystemExit(f"no container of programs at {place}")
        entries = []
        while inside < stop:
            kind, _, own_header, own_size = struct.unpack_from("<HHIQ", data, inside)
            architecture, = struct.unpack_from("<I", data, inside + 28)
            entries.append(Entry(kind, architecture, inside + own_header, own_size))
            inside += own_header + own_size
        if inside != stop:
            raise SystemExit(f"the container at {place} does not end with an entry")
        yield entries
        place = stop


def chosen(entries, architecture):
    """What the driver takes: machine code of the same generation, else a text that it compiles; the newest of them."""
    for kind, fits in ((MACHINE_CODE, lambda entry: entry.architecture // 10 == architecture // 10), (PTX, lambda entry: True)):
        able = [entry.architecture for entry in entries if entry.kind == kind and fits(entry) and entry.architecture <= architecture]
        if able:
            return [entry for entry in entries if entry.kind == kind and entry.architecture == max(able)]
    return []


def thin(data, architecture):
    """Zeros over the programs that the architecture does not take; how many bytes stayed, of how many."""
    place, kept, all_bytes = section_of(data, SECTION), 0, 0
    for entries in containers_of(data, *place) if place else ():
        taken = chosen(entries, architecture)
        for entry in entries:
            all_bytes += entry.size
            if entry in taken:
                kept += entry.size
            else:
                data[entry.begin:entry.begin + entry.size] = bytes(entry.size)
    return kept, all_bytes


def pack(arguments):
    folder = pathlib.Path(arguments.folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as made:
        made = pathlib.Path(made)
        with zipfile.ZipFile(arguments.wheel) as wheel, tarfile.open(made / "all", "w:xz", preset=9) as archive:
            members = [name for name in wheel.namelist() if name.rsplit("/", 1)[-1].startswith(TAKEN)]
            if len(members) != len(TAKEN):
                raise SystemExit(f"{arguments.wheel} has {', '.join(members) or 'none of the libraries'}; {', '.join(TAKEN)} are needed")
            for name in members:
                data = bytearray(wheel.read(name))
                kept, whole = thin(data, arguments.architecture)
                path = made / name.rsplit("/", 1)[-1]
                path.write_bytes(data)
                archive.add(path, path.name)
                print(f"{path.name}: {len(data) / 2**20:.1f} MiB, {kept / 2**20:.1f} of {whole / 2**20:.1f} MiB of its programs kept")
        packed = (made / "all").read_bytes()
    count = -(-len(packed) // PART_BYTES)
    for number in range(count):
        (folder / f"{NAME}.{number + 1}of{count}").write_bytes(packed[number * PART_BYTES:(number + 1) * PART_BYTES])
    shutil.copy(__file__, folder / "gpu_peers.py")
    print(f"{folder}: {len(packed) / 2**20:.1f} MiB in {count} part{'s' if count > 1 else ''}")
    return 0


def unpack(arguments):
    folder, target = pathlib.Path(arguments.folder), pathlib.Path(arguments.target)
    target.mkdir(parents=True, exist_ok=True)
    for part in folder.glob(f"{NAME}.*of*"):
        shutil.copy(part, target)
    parts = sorted(target.glob(f"{NAME}.*of*"), key=lambda path: int(path.name.split(".")[1].split("of")[0]))
    wanted = int(parts[0].name.split("of")[-1]) if parts else 1
    if len(parts) < wanted:
        print(f"{len(parts)} of {wanted} parts are there")
        return 0
    with tempfile.TemporaryFile() as whole:
        for part in parts:
            whole.write(part.read_bytes())
        whole.seek(0)
        with tarfile.open(fileobj=whole, mode="r:xz") as archive:
            try:
                archive.extractall(target, filter="data")
            except TypeError:  # an older Python
                archive.extractall(target)
    for part in parts:
        part.unlink()
    print(f"{target}: {', '.join(sorted(path.name for path in target.iterdir()))}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("wheel")
    packing.add_argument("folder")
    packing.add_argument("--architecture", type=int, default=90)
    unpacking = commands.add_parser("unpack")
    unpacking.add_argument("folder")
    unpacking.add_argument("target")
    arguments = parser.parse_args()
    return pack(arguments) if arguments.command == "pack" else unpack(arguments)


if __name__ == "__main__":
    sys.exit(main())
