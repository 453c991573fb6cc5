#!/usr/bin/env python3
"""Runs golden files: what the program prints and returns for a command line, kept as text and read in review.

    tests/golden/run.py --program build/release/bin/onnxkit [--rebase] [--every N] [FILE or FOLDER ...]     default: testdata/cli

A golden file is a leading comment, the input files, then one or more steps, each a shell line with what it gives:

    One or more lines that say what this shows.
    --- mask [0-9.]+ (us|ms|s)\b     what a regular expression matches in the streams reads (varies)
    --- file model.onnxtxt
    <ir_version: 8, opset_import: ["" : 17]> ...
    $ onnxkit check model.onnxtxt
    --- stdout
    model.onnxtxt: no findings
    --- stderr                      an empty stream has no section
    --- exit 0
    --- output out.onnxtxt          a file that the step wrote; of a binary one only the size is kept

Each case runs in a folder of its own that holds its files and a link `testdata` to the repository's. Nothing in the output
is normalised but what masks match and the path of that folder, which reads `TMP`. A line that looks like one of these marks gets a backslash in
front. `--rebase` writes what was found into the file.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTION = re.compile(r"^--- (mask|file|output|stdout|stderr|exit)(?: (.*))?$")
MARK = re.compile(r"\$ |--- (mask|file|output|stdout|stderr|exit)( |$)")
NO_NEWLINE = "\\ no newline at the end"
TIMEOUT_SECONDS = 120


class Case:
    """A parsed golden file: comment lines, masks, (name, text) of the input files, the shell lines."""

    def __init__(self, text):
        self.comment, self.masks, self.files, self.commands = [], [], [], []
        body = self.comment
        for line in text.splitlines():
            section = SECTION.match(line)
            if line.startswith("$ "):
                self.commands.append(line[2:])
                body = None
            elif section and section.group(1) == "mask" and not self.commands:
                self.masks.append(section.group(2))
            elif section and section.group(1) == "file" and not self.commands:
                body = []
                self.files.append((section.group(2), body))
            elif body is not None:
                body.append(line)
        self.files = [(name, [unescape(line) for line in body]) for name, body in self.files]
        if not self.commands:
            raise ValueError("no line begins with '$ '")


def as_lines(text):
    """The text as lines, with a mark when the last one is not ended."""
    if text and not text.endswith("\n"):
        return [*text.split("\n"), NO_NEWLINE]
    return text.split("\n")[:-1]


def escape(line):
    return "\\" + line if MARK.match(line) else line


def unescape(line):
    return line[1:] if line.startswith("\\") and MARK.match(line[1:]) else line


def section(title, lines):
    return [f"--- {title}", *map(escape, lines)] if lines else []


def describe(path):
    """Contents of a written file: its lines, or its size when it is not text."""
    data = path.read_bytes()
    try:
        return as_lines(data.decode())
    except UnicodeDecodeError:
        return [f"(binary, {len(data)} bytes)"]


def snapshot(folder):
    """Every file below the folder but the linked test data, with what tells a change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "testdata" not in path.relative_to(folder).parts:
            found[path.relative_to(folder).as_posix()] = (path.stat().st_mtime_ns, path.stat().st_ino)
    return found


def masked(text, masks):
    for mask in masks:
        text = re.sub(mask, "(varies)", text)
    return text


def run_step(command, masks, folder, program):
    """Runs one shell line; the lines that a golden file holds for it."""
    environment = {
        "PATH": f"{program.parent}:{os.environ.get('PATH', '/usr/bin:/bin')}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
    }
    environment.update({name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "ONNXKIT_CUDA_PATH", "XDG_CACHE_HOME") if name in os.environ})
    before = snapshot(folder)
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    streams = [stream.decode(errors="backslashreplace").replace(str(folder), "TMP") for stream in (done.stdout, done.stderr)]
    streams = [masked(stream, masks) for stream in streams]
    lines = [f"$ {command}", *section("stdout", as_lines(streams[0])), *section("stderr", as_lines(streams[1]))]
    lines.append(f"--- exit {done.returncode}")
    for name, state in snapshot(folder).items():
        if before.get(name) != state:
            lines += [f"--- output {name}", *map(escape, describe(folder / name))]
    return lines


def run_case(text, program):
    """The golden file as it should read now."""
    case = Case(text)
    lines = [*case.comment, *(f"--- mask {mask}" for mask in case.masks)]
    with tempfile.TemporaryDirectory(prefix="onnxkit-golden-") as name:
        folder = pathlib.Path(name).resolve()
        (folder / "testdata").symlink_to(ROOT / "testdata")
        for file_name, body in case.files:
            path = folder / file_name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(line + "\n" for line in body))
            lines += [f"--- file {file_name}", *map(escape, body)]
        for command in case.commands:
            lines += run_step(command, case.masks, folder, program)
    return "\n".join(lines) + "\n"


def check_file(path, program, rebase):
    """Whether the golden file holds; with rebase it is rewritten where it does not."""
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    expected = path.read_text()
    try:
        found = run_case(expected, program)
    except (ValueError, subprocess.TimeoutExpired) as error:
        print(f"{name}: {error}")
        return False
    if found == expected:
        return True
    if rebase:
        path.write_text(found)
        print(f"{name}: rewritten")
        return True
    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), found.splitlines(True), f"{name} (expected)",
                                               f"{name} (found)"))
    return False


def main():
    parser = argparse.ArgumentParser(description="Runs golden files; see the top of this script for their form.")
    parser.add_argument("--program", required=True, type=pathlib.Path, help="the program, named onnxkit")
    parser.add_argument("--rebase", action="store_true", help="write what was found into the files")
    parser.add_argument("--every", type=int, default=1, help="of the files in the order of their names the first of so many")
    parser.add_argument("paths", nargs="*", type=pathlib.Path, default=[ROOT / "testdata/cli"])
    options = parser.parse_args()

    files = sorted({file.resolve() for path in options.paths for file in ([path] if path.is_file() else path.rglob("*.txt"))})[:: options.every]
    good = sum(check_file(file, options.program.resolve(), options.rebase) for file in files)
    print(f"{good} passed, {len(files) - good} failed")
    return 0 if files and good == len(files) else 1


if __name__ == "__main__":
    sys.exit(main())
