"""The program of the package: `onnxkit`, and `python -m onnxkit`."""

import os
import pathlib
import sys


def program_path():
    """The program in this package, or None where the package is used without one."""
    path = pathlib.Path(__file__).parent / "bin" / "onnxkit"
    return path if path.exists() else None


def main():
    path = program_path()
    if path is None:
        sys.exit("onnxkit: this package has no program: install its wheel (scripts/wheel)")
    # Runtimes in processes of their own are those of this environment.
    os.environ.setdefault("ONNXKIT_PYTHON", sys.executable)
    os.execv(path, ["onnxkit", *sys.argv[1:]])


if __name__ == "__main__":
    main()
