#!/usr/bin/env python3
"""Hostile input: runs the cases of one part, such as `files`, against the program.

    tests/hostile/run.py --program build/release/bin/onnxkit files [CASE ...]

A part is a module beside this one; each function case_NAME(box, check) writes small files that ask for much, runs the program
with limits and calls check(name, fault, note), where an empty fault passes."""

import argparse
import importlib
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.dirname(here)]
sys.dont_write_bytecode = True

from box import Box
from suite import Suite


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/onnxkit")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("part")
    parser.add_argument("cases", nargs="*", help="names without case_; without them all")
    arguments = parser.parse_args()
    part = importlib.import_module("part_" + arguments.part)
    cases = [name for name in vars(part) if name.startswith("case_")]
    chosen = ["case_" + name for name in arguments.cases] or cases
    sys.stdout.reconfigure(line_buffering=True)
    suite = Suite(arguments.verbose)
    for name in chosen:
        with Box(arguments.program) as box:
            getattr(part, name)(box, lambda what, fault, note="", name=name: suite.check(f"{name[5:]}: {what}", fault, note))
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
