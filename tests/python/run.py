#!/usr/bin/env python3
"""Tests of the Python package (bindings/python), as `python -m unittest` runs them, with the counts that scripts/test reads."""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "bindings" / "python"), str(HERE)]


def main():
    tests = unittest.defaultTestLoader.discover(str(HERE), pattern="test_*.py")
    result = unittest.TextTestRunner(verbosity=1).run(tests)
    for case, reason in result.skipped:
        print(f"skipped: {reason}: 1 cases")
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    if result.skipped:
        print(f"{len(result.skipped)} skipped")
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed")
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
