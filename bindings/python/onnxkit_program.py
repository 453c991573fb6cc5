"""Starts the program of the package onnxkit. Beside the package, whose import takes numpy and the library."""

import os
import pathlib
import sys


def main():
    path = pathlib.Path(__file__).parent / "onnxkit/bin/onnxkit"
    if not path.exists():
        sys.exit("onnxkit: this package has no program: install its wheel (scripts/wheel)")
    # Runtimes in processes of their own are those of this environment.
    os.environ.setdefault("ONNXKIT_PYTHON", sys.executable)
    os.execv(path, ["onnxkit", *sys.argv[1:]])
