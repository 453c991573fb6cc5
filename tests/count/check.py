#!/usr/bin/env python3
"""Holds scripts/count_tests against a JUnit file as ctest writes it."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="t" tests="4">
<testcase name="workers" status="run"><system-out>skipped: torch: no module named torch: 3 cases
skipped: torch: no module named torch: 3 cases
skipped: tensorrt: no device: 1 cases
4 skipped
12 passed, 0 failed
</system-out></testcase>
<testcase name="silent" status="run"><system-out>2 skipped
1 passed, 1 failed
</system-out><failure message=""/></testcase>
<testcase name="plain" status="run"><system-out>fine</system-out></testcase>
<testcase name="gone" status="notrun"><system-out></system-out></testcase>
</testsuite>
"""
REASONS = """skipped: workers: torch: no module named torch: 3 cases
skipped: workers: tensorrt: no device: 1 cases
skipped: silent: 2 cases, see build/release/Testing/Temporary/LastTest.log
"""


def printed(*words):
    return subprocess.run([sys.executable, ROOT / "scripts/count_tests", *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "tests.xml"
        file.write_text(JUNIT)
        cases = [("counts", (file,), "14 2 6\n"), ("reasons", (file, "--reasons"), REASONS), ("no file", (file / "none",), "0 1 0\n"),
                 ("no reasons", (file / "none", "--reasons"), "")]
        for name, words, expected in cases:
            if printed(*words) != expected:
                failed += 1
                print(f"failed: {name}: {printed(*words)!r}, not {expected!r}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
