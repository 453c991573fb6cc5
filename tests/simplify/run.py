#!/usr/bin/env python3
"""Simplifies models that have recorded inputs and outputs: check accepts the results, and they give on the reference what was recorded.

    tests/simplify/run.py --program onnxkit --judge run_cases --corrections tests/official/corrections [--every N] FOLDER
    tests/simplify/run.py --program onnxkit FOLDER...      by the verification of simplify itself, on generated inputs

`--judge` is the program that runs the folders of official cases. Models that simplify refuses, or could not compare, are counted as skipped, by reason.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from suite import Suite  # noqa: E402


def link_tree(source, target):
    shutil.copytree(source, target, copy_function=os.link)


def verified(program, folders, suite):
    call = [program, "simplify", *folders, "--dry-run", "-q", "--format", "json"]
    report = json.loads(subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    skipped = collections.Counter()
    for file in report["files"]:
        verdict = (file.get("verified") or {}).get("verdict")
        if "refusal" in file or verdict == "unjudged":
            skipped[file["refusal"]["code"] if "refusal" in file else "not compared"] += 1
        else:
            suite.check(file["model"], "" if verdict == "equal" else file["error"]["message"] if "error" in file else file["verified"]["reason"])
    for reason, count in skipped.items():
        suite.skip(count, f"not simplified, {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--judge")
    parser.add_argument("--corrections")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th model only")
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    suite = Suite()
    if not options.judge:
        verified(options.program, options.folders, suite)
        return suite.close()
    folder = options.folders[0]
    # Beside the models, as links cannot lead to other file systems.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="simplified-") as name:
        models, simplified = pathlib.Path(name, "models"), pathlib.Path(name, "simplified")
        for model in sorted(folder.rglob("model.onnx"))[:: options.every]:
            link_tree(model.parent, models / model.parent.relative_to(folder))
        call = [options.program, "simplify", models, "--output-dir", simplified, "--no-verify", "--with", "inline_functions", "-q", "--format", "json"]
        report = json.loads(subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
        refusals = collections.Counter()
        for file in report["files"]:
            case = pathlib.Path(file["model"]).parent.relative_to(models)
            if "refusal" in file:
                refusals[file["refusal"]["code"]] += 1
                continue
            suite.check(case, file.get("error", {}).get("message", "") if file["output"] is None else "")
            for data in (models / case).glob("test_data_set_*"):
                data.rename(simplified / case / data.name)
        for code, count in refusals.items():
            suite.skip(count, f"not simplified, {code}")
        checked = subprocess.run([options.program, "check", simplified, "-q"], capture_output=True, text=True)
        suite.check("check", checked.stderr[:2000] if checked.returncode else "")
        judged = subprocess.run([options.judge, "--corrections", options.corrections, simplified], capture_output=True, text=True)
        lines = judged.stdout.splitlines() or [judged.stderr]
        if judged.returncode:
            print("\n".join(lines[-60:]))
        suite.check("results", "" if judged.returncode == 0 else lines[-1])
        if judged.returncode == 0:
            suite.passed += int(lines[-1].split()[0])
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
