#!/usr/bin/env python3
"""Holds the examples of README.md against what the program prints today.

    examples.py --program build/release/bin/onnxkit [--rebase]

Each block of `console` is one command and what it prints. Numbers and columns' widths vary from run to run where times are measured, so such a
block is compared word by word with its numbers left out. The interpreter that runs this runs the workers, too.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = {"model.onnx": "testdata/models/unet_shapes/model.onnx", "digits_broken.onnxtxt": "testdata/models/digits_broken.onnxtxt"}
BLOCK = re.compile(r"```console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```\n")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d.]*(e[-+]?\d+)?( (ns|us|ms|s|min)\b)?")


def words(text):
    """The lines without numbers, near-zero marks and runs of spaces."""
    return [" ".join(NUMBER.sub("N", line).replace("(near N)", "").split()) for line in text.splitlines()]


def printed(program, command, folder):
    environment = {**os.environ, "PATH": f"{program.resolve().parent}:{os.environ['PATH']}", "ONNXKIT_PYTHON": sys.executable, "NO_COLOR": "1"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    return done.stdout


def reason_to_skip(command, found):
    """Why this machine cannot show the example."""
    missing = re.search(r"no module named \w+", found)
    if missing:
        return missing.group()
    if "openvino" in command and "computes in bf16" not in found:
        return "OpenVINO computes in float32 on this processor, the example shows bfloat16"
    return None


def main():
    parser = argparse.ArgumentParser(description="Compares the examples of README.md with what the program prints.")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--rebase", action="store_true", help="write what was printed into README.md")
    options = parser.parse_args()
    text = (ROOT / "README.md").read_text()
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, source in FILES.items():
            shutil.copy(ROOT / source, pathlib.Path(folder) / name)
        for block in BLOCK.finditer(text):
            command, expected = block["command"], block["output"]
            found = printed(options.program, command, folder)
            varies = command.startswith("onnxkit diff")
            same = words(found) == words(expected) if varies else found == expected
            reason = None if same else reason_to_skip(command, found)
            if same:
                passed += 1
            elif reason:
                skipped += 1
                print(f"skipped: {command}: {reason}")
            elif options.rebase:
                text = text.replace(block.group(), f"```console\n$ {command}\n{found}```\n")
                passed += 1
            else:
                failed += 1
                print(f"README.md says of `{command}`:\n{expected}\nand it prints:\n{found}")
    if options.rebase:
        (ROOT / "README.md").write_text(text)
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
