#!/usr/bin/env python3
"""Fails on phrases of tests/words/banned.txt in messages, help texts and docs, and on lines of docs beyond 120 characters,
and on headings of docs so long that they hold the paragraph behind them.

    tests/words/check.py [FILE ...]      default: all tracked sources, adapters and docs

Checked are string literals of the C++ sources, string literals of tools/workers/*.py, and the text of Markdown pages outside of
code. A line of a page may be longer in a table, in code, or when it has one unbroken link.
"""
import argparse
import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 120
MOST_OF_HEADING = 100
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"^\s*(//|#include)")
HEADING = re.compile(r"#{1,6} ")
SPAN = re.compile(r"`[^`]*`|\]\([^)]*\)")
# The specification's own words, and pages whose text other tools write.
SKIPPED = re.compile(r"libonnxkit/spec/table/|docs/opset-refusals\.md|docs/results/|build/")


def banned():
    for line in (ROOT / "tests/words/banned.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern, words = line.split("\t")
            yield re.compile(pattern, re.I), words


def cpp_strings(text):
    """(line, text); adjacent literals of one message, also on following lines, are one."""
    pending, start, end = "", 0, 0
    for number, line in enumerate(text.split("\n"), 1):
        if COMMENT.match(line):
            continue
        for found in LITERAL.finditer(line):
            between = line[:found.start()] if number != end else ""
            if pending and (number == end + 1 and not between.strip()):
                pending += found[1]
            else:
                if pending:
                    yield start, pending
                pending, start = found[1], number
            end = number
    if pending:
        yield start, pending


def python_strings(text):
    tree = ast.parse(text)
    docs = {id(node.body[0].value) for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def page_lines(text):
    """(line, text, whether its length counts) of the prose of a page."""
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith("    "):
            yield number, line
    # Code blocks are the program's own output and commands: goldens hold them.


def faults(path):
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".md":
        pieces = [(number, SPAN.sub("", line)) for number, line in page_lines(text)]
        for number, line in page_lines(text):
            if HEADING.match(line) and len(line) > MOST_OF_HEADING:
                yield f"{name}:{number}: a heading of {len(line)} characters, {MOST_OF_HEADING} are allowed"
            if len(line) > MOST and not line.lstrip().startswith("|") and " " in line.strip()[:MOST]:
                yield f"{name}:{number}: {len(line)} characters, {MOST} are allowed"
    elif path.suffix == ".py":
        pieces = list(python_strings(text))
    else:
        pieces = [(number, piece) for number, piece in cpp_strings(text) if " " in piece.strip()]
    for number, piece in pieces:
        for pattern, words in BANNED:
            if found := pattern.search(piece):
                yield f"{name}:{number}: \"{found[0]}\" in \"{piece.strip()[:100]}\"; say: {words}"


def tracked():
    listed = subprocess.run(["git", "ls-files", "*.cpp", "*.h", "*.md", "tools/workers/*.py"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        is_source = name.startswith(("libonnxkit/", "checker/", "converters/", "reference/", "tools/"))
        if (is_source or name.endswith(".md")) and not SKIPPED.search(name) and (ROOT / name).is_file():
            yield ROOT / name


BANNED = list(banned())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=lambda name: pathlib.Path(name).resolve())
    files = parser.parse_args().files or list(tracked())
    found = [fault for path in files for fault in faults(path)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(files)} files, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
