#!/usr/bin/env python3
"""Every example of docs/adding.md consists of new files only, in folders of the tree, and docs/adding.md shows each of them.

    tests/adding/run.py
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "testdata/adding"


def faults_of(example, page):
    for path in sorted(path for path in example.rglob("*") if path.is_file()):
        place = path.relative_to(example)
        if (ROOT / place).exists():
            yield f"{path.relative_to(ROOT)}: {place} is in the tree already"
        # New folders: of golden files, as all below testdata/cli are run, and of a backend, which is a layer of its own.
        is_new_folder = place.parts[:2] == ("testdata", "cli") or any(path.parent.glob("*_backend.cpp"))
        if not (ROOT / place).parent.is_dir() and not is_new_folder:
            yield f"{path.relative_to(ROOT)}: the tree has no folder {place.parent}"
        if str(place) not in page:
            yield f"{path.relative_to(ROOT)}: docs/adding.md does not name {place}"


def main():
    page = (ROOT / "docs/adding.md").read_text(encoding="utf-8")
    examples = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
    faults = [fault for example in examples for fault in faults_of(example, page)]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"adding: {len(examples)} examples, {len(faults)} faults")
    return 1 if faults or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
