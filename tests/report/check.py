#!/usr/bin/env python3
"""Checks the reports that report_samples makes: text against testdata/report, JSON against its schema, the pages for soundness.

    check.py --program build/release/bin/report_samples [--rebase]

Groups of sets must be those of the outputs. A page must be well formed, fetch nothing, hold its data as JSON that nothing inside can end, and build no markup from data. Its
figures are those of the JSON: a sweep of numbers, where node is installed, and no formatting by d3, of which a release loses zeros of exponents.
"""
import argparse
import difflib
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jsonschema

import figures
import soundness

ROOT = pathlib.Path(__file__).resolve().parents[2]


def faults_of_page(text, report):
    held, page, faults = soundness.opened(text)
    yield from faults
    if held is None:
        return
    for key in ("verdict", "sets", "noise_floor"):
        if held[key] != report[key]:
            yield f"data and JSON differ in {key}"
    if [side["label"] for side in held["sides"]] != [side["label"] for side in report["sides"]]:
        yield "data and JSON differ in the sides"
    for side in held["sides"]:
        for group in side["groups"]:
            shown = group["worst"]["output"] if group["worst"] else group["outputs"][0]
            if "metrics" in group and "scatter" not in side["outputs"][shown]:
                yield f"{group['name']!r} has no plots of the set that is furthest off"
    yield from (f"an axis has labels of d3's own: {axis}" for axis in re.findall(r"d3\.axis[^;]*;", soundness.own_script(page)) if ".tickFormat(" not in axis)


def faults_of_groups(side):
    """The groups of a side hold each of its outputs once, those of one name that were judged alike together."""
    outputs, groups = side["outputs"], side["groups"]
    if sorted(position for group in groups for position in group["outputs"]) != list(range(len(outputs))):
        yield "the groups do not hold every output once"
        return
    kinds = [tuple(str(group[key]) for key in ("name", "verdict", "profile")) + ("metrics" in group,) for group in groups]
    if len(set(kinds)) < len(kinds):
        yield "two groups are of one name and judged alike"
    for group, kind in zip(groups, kinds):
        held = [outputs[position] for position in group["outputs"]]
        if {tuple(str(output[key]) for key in ("name", "verdict", "profile")) + ("metrics" in output,) for output in held} != {kind}:
            yield f"the group of {group['name']!r} holds others"
        if group["sets"] != [output["set"] for output in held]:
            yield f"the group of {group['name']!r} has other sets than its outputs"
        for key in ("elements", "equal", "sign_flips") if kind[-1] else ():
            if group["metrics"][key] != sum(output["metrics"][key] for output in held):
                yield f"{key} of {group['name']!r} is not that of its sets together"
        squares = sum(output["metrics"]["rmse"] ** 2 * output["metrics"]["compared"] for output in held) if kind[-1] else 0
        if squares and not math.isclose(group["metrics"]["rmse"], math.sqrt(squares / group["metrics"]["compared"])):
            yield f"rmse of {group['name']!r} is not over all elements of its sets"
        worst = group["worst"]
        if worst and (worst["output"] not in group["outputs"] or outputs[worst["output"]]["set"] != worst["set"] or worst["floor"] not in outputs[worst["output"]]["floors"]):
            yield f"the worst set of {group['name']!r} is none of its own"


def faults_of_figures():
    """None where node is not installed."""
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        return None
    functions = (ROOT / "tools/report/assets/numbers.js").read_text()
    numbers = figures.sweep()
    script = f"\"use strict\";\n{functions}\nconsole.log(JSON.stringify(({figures.ANSWERS})({json.dumps(numbers)})))"
    run = subprocess.run([node, "-"], input=script, capture_output=True, text=True)
    return list(figures.faults_of_figures(numbers, json.loads(run.stdout))) if run.returncode == 0 else [run.stderr]


def check_text(name, text, rebase):
    path = ROOT / "testdata/report" / f"{name}.txt"
    if any(ord(letter) < 32 and letter != "\n" for letter in text):
        yield "the text holds control characters"
    if rebase:
        path.write_text(text)
        return
    expected = path.read_text() if path.is_file() else ""
    if text != expected:
        yield "".join(difflib.unified_diff(expected.splitlines(True), text.splitlines(True), str(path), "found"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--rebase", action="store_true", help="write the texts that were found into testdata/report")
    options = parser.parse_args()
    schema = json.loads((ROOT / "docs/json/diff.schema.json").read_text())
    holds = jsonschema.validators.validator_for(schema)(schema)

    good = bad = 0
    with tempfile.TemporaryDirectory(prefix="onnxkit-report-") as name:
        folder = pathlib.Path(name)
        subprocess.run([options.program.resolve(), folder], check=True)
        for path in sorted(folder.glob("*.json")):
            report = json.loads(path.read_text())
            text = path.with_suffix(".txt").read_bytes().decode(errors="backslashreplace")
            faults = [f"JSON: {fault.json_path}: {fault.message[:300]}" for fault in holds.iter_errors(report)]
            faults += [f"JSON: {side['label']}: {fault}" for side in report["sides"] for fault in faults_of_groups(side)]
            faults += [f"text: {fault}" for fault in check_text(path.stem, text, options.rebase)]
            faults += [f"page: {fault}" for fault in faults_of_page(path.with_suffix(".html").read_text(), report)]
            good, bad = (good, bad + 1) if faults else (good + 1, bad)
            for fault in faults[:5]:
                print(f"{path.stem}: {fault}")
    faults = faults_of_figures()
    if faults is None:
        print("skipped: the sweep of figures needs node")
    for fault in (faults or [])[:8]:
        print(f"figures: {fault}")
    bad += bool(faults)
    print(f"{good} passed, {bad} failed")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
