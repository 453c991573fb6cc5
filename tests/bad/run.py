#!/usr/bin/env python3
"""Holds `onnxkit check` against testdata/bad: each invalid model must yield its code at its place, each corrected twin no error.

    run.py --program build/release/bin/onnxkit [NAME ...]      NAME: a topic ("conv") or a case ("conv/bias-rank")
"""
import argparse
import json
import subprocess
import sys

import catalogue

FILES_PER_CALL = 50


def check(program, paths):
    """{path: [(severity, code, place)]}, and what went wrong with the program itself."""
    call = subprocess.run([program, "check", "--format", "json", *paths], capture_output=True, text=True, errors="replace")
    try:
        files = json.loads(call.stdout)["files"]
    except ValueError:
        return {}, f"no report, exit status {call.returncode}: {call.stderr.strip()[-400:]}"
    return {file["path"]: [(f["severity"], f["code"], f["place"].get("path", "")) for f in file["findings"]] for file in files}, ""


def is_at(place, expected):
    """Whether `place` is `expected` or inside it; quotes around names do not matter."""
    if expected == "model":
        return not place.startswith(("main", "function"))
    place = place.replace('"', "")
    return place == expected or place.startswith((expected + " ", expected + " /"))


def fault_of(case, bad, twin):
    wanted = (case.severity, case.code)
    hits = [place for severity, code, place in bad if (severity, code) == wanted]
    if not hits:
        return f"wants {case.code}, found " + (", ".join(f"{code} at {place}" for _, code, place in bad) or "nothing")
    if not any(is_at(place, case.place) for place in hits):
        return f"wants {case.code} at {case.place}, found it at {', '.join(hits)}"
    errors = [f"{code} at {place}" for severity, code, place in twin if severity == "error" or code == case.code]
    return f"the corrected twin has {', '.join(errors)}" if errors else ""


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", required=True)
    options.add_argument("names", nargs="*")
    args = options.parse_args()

    cases = [case for case in catalogue.load() if not args.names or {case.name, case.topic} & set(args.names)]
    paths = [str(path) for case in cases for path in (case.bad, case.twin)]
    found, broken = {}, []
    for begin in range(0, len(paths), FILES_PER_CALL):
        part, fault = check(args.program, paths[begin:begin + FILES_PER_CALL])
        found |= part
        if fault:
            broken.append(fault)

    faults = {case.name: fault for case in cases if (fault := fault_of(case, found.get(str(case.bad), []), found.get(str(case.twin), [])))}
    for line in [f"{name}: {fault}" for name, fault in faults.items()] + broken:
        print(line)
    print(f"{len(cases) - len(faults)} passed, {len(faults) + len(broken)} failed")
    return 1 if faults or broken or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
