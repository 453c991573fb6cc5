#!/usr/bin/env python3
"""Holds `onnxkit check` against testdata/invalid: the first error in each model has the code that expected.yaml names, which belongs to the level
at which the model is wrong; no error is of an earlier level.

    levels.py --program build/release/bin/onnxkit
"""
import argparse
import pathlib
import sys

import yaml

from run import check

ROOT = pathlib.Path(__file__).resolve().parents[2] / "testdata/invalid"


def fault_of(expected, level_of, order, errors):
    if not errors:
        return f"wants {expected['code']}, found no error"
    if errors[0] != expected["code"]:
        return f"wants {expected['code']} first, found {', '.join(errors)}"
    if level_of[expected["code"]] != expected["level"]:
        return f"{expected['code']} is of the level {level_of[expected['code']]}, not {expected['level']}"
    early = [code for code in errors if order.index(level_of.get(code, order[0])) < order.index(expected["level"])]
    return f"is wrong at the level {expected['level']}, yet has {', '.join(early)}" if early else ""


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", required=True)
    args = options.parse_args()

    listing = yaml.safe_load((ROOT / "expected.yaml").read_text())
    order = list(listing["codes"])
    level_of = {code: level for level, codes in listing["codes"].items() for code in codes}
    models = listing["models"]
    found, broken = check(args.program, [str(ROOT / name / "model.onnx") for name in models])

    faults = [broken] if broken else []
    faults += [f"{path.name}: not in expected.yaml" for path in ROOT.iterdir() if path.is_dir() and path.name not in models]
    for name, expected in models.items():
        errors = [code for severity, code, _ in found.get(str(ROOT / name / "model.onnx"), []) if severity == "error"]
        if fault := fault_of(expected, level_of, order, errors):
            faults.append(f"{name}: {fault}")
    for fault in faults:
        print(fault)
    print(f"{len(models) - len(faults)} passed, {len(faults)} failed")
    return 1 if faults or not models else 0


if __name__ == "__main__":
    sys.exit(main())
