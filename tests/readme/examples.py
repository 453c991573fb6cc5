#!/usr/bin/env python3
"""Holds the examples of README.md and of pages in docs against what the program prints today.

    examples.py --program build/release/bin/onnxkit [--rebase]

A block of `console` holds commands, each with what it prints. Numbers and columns' widths vary from run to run where times are measured, so what
`onnxkit diff` prints is compared word by word with its numbers left out. A line `...` stands for any lines. Each block begins in a folder with the
example files and a link `testdata` to the repository's. The interpreter that runs this runs the workers, too. --rebase writes what was printed,
but for examples with `...`.
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
PAGES = ["README.md", "docs/story.md"]
BLOCK = re.compile(r"```console\n(?P<steps>(?:.*\n)*?)```\n")
STEP = re.compile(r"\$ (?P<command>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d.]*(e[-+]?\d+)?( (ns|us|ms|s|min)\b)?")


def words(text):
    """The lines without numbers, near-zero marks and runs of spaces."""
    return [" ".join(NUMBER.sub("N", line).replace("(near N)", "").split()) for line in text.splitlines()]


def printed(program, command, folder):
    environment = {**os.environ, "PATH": f"{program.resolve().parent}:{os.environ['PATH']}", "ONNXKIT_PYTHON": sys.executable, "NO_COLOR": "1"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    return done.stdout


def is_within(expected, found):
    """Whether the lines are those found, where `...` stands for any number of them."""
    parts = [part.splitlines() for part in re.split(r"^\.\.\.$\n?", "\n".join(expected), flags=re.MULTILINE)]
    if len(parts) == 1:
        return found == expected
    first, *inner, last = parts
    if found[:len(first)] != first or (last and found[-len(last):] != last):
        return False
    at, end = len(first), len(found) - len(last)
    for part in inner:
        at = next((i + len(part) for i in range(at, end - len(part) + 1) if found[i:i + len(part)] == part), None)
        if at is None:
            return False
    return at <= end


def is_same(command, expected, found):
    lines = words if command.startswith("onnxkit diff") else str.splitlines
    return is_within(lines(expected), lines(found))


def reason_to_skip(command, found):
    """Why this machine cannot show the example."""
    missing = re.search(r"no module named \w+", found)
    if missing:
        return missing.group()
    if "openvino" in command and "precision=f32" not in command and "computes in bf16" not in found:
        return "OpenVINO computes in float32 on this processor, the example shows bfloat16"
    return None


class Examples:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.passed = self.failed = self.skipped = 0
        for name, source in FILES.items():
            shutil.copy(ROOT / source, scratch / name)
        (scratch / "testdata").symlink_to(ROOT / "testdata")

    def step(self, page, folder, step):
        """What the page should say of one command."""
        command, expected = re.sub(r"\\\n *", "", step["command"]), step["output"]
        found = printed(self.options.program, command, folder)
        same = is_same(command, expected, found)
        reason = None if same else reason_to_skip(command, found)
        if same:
            self.passed += 1
        elif reason:
            self.skipped += 1
            print(f"skipped: {command}: {reason}")
        elif self.options.rebase and "...\n" not in expected:
            self.passed += 1
            return f"$ {step['command']}\n{found}"
        else:
            self.failed += 1
            print(f"{page} says of `{command}`:\n{expected}\nand it prints:\n{found}")
        return step.group()

    def block(self, page, block):
        folder, steps = self.scratch, []
        for step in STEP.finditer(block["steps"]):
            if step["command"].startswith("cd "):
                folder = folder / step["command"].removeprefix("cd ")
            steps.append(step.group() if step["command"].startswith("cd ") else self.step(page, folder, step))
        return f"```console\n{''.join(steps)}```\n"

    def page(self, page):
        text = (ROOT / page).read_text()
        changed = BLOCK.sub(lambda block: self.block(page, block), text)
        if self.options.rebase and changed != text:
            (ROOT / page).write_text(changed)


def main():
    parser = argparse.ArgumentParser(description="Compares the examples of README.md and docs with what the program prints.")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--rebase", action="store_true", help="write what was printed into the pages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        examples = Examples(options, pathlib.Path(folder))
        for page in PAGES:
            examples.page(page)
    if examples.skipped:
        print(f"{examples.skipped} skipped")
    print(f"{examples.passed} passed, {examples.failed} failed")
    return 1 if examples.failed else 0


if __name__ == "__main__":
    sys.exit(main())
