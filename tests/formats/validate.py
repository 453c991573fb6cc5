#!/usr/bin/env python3
"""Holds JSON and SARIF of the commands of onnxkit against their schemas, over testdata/bad, testdata/models and testdata/exported.

    validate.py --program build/release/bin/onnxkit [--sarif-schema FILE]

SARIF is held against sarif-used.schema.json beside this file: the part of SARIF that the program writes, and nothing beyond it.
--sarif-schema takes the official schema (sarif-schema-2.1.0.json of OASIS) in its place; its terms keep a copy out of this repository.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import jsonschema
import referencing

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent

GOOD = '<ir_version: 8, opset_import: ["" : 17]> main (float[N] x) => (float[N] y) { y = Relu (x) }\n'
UNSORTED = '<ir_version: 8, opset_import: ["" : 17]> main (float[N] x) => (float[N] y) { y = Relu (z) z = Abs (x) }\n'
# Bytes that are not UTF-8 in the name of an operator.
LATIN = b"\x08\x08\x3a\x0d\x0a\x08\x22\x03Re\xe9\x12\x01y\x12\x01m\x42\x02\x10\x11"


def output(program, command, arguments):
    """(parsed standard output, exit status)"""
    done = subprocess.run([program, command, *arguments], capture_output=True, check=False, cwd=ROOT)
    if done.returncode not in (0, 1, 2, 3):
        raise RuntimeError(f"{command} {arguments}: exit status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout), done.returncode


def validator(path):
    """A validator of the schema at `path`, which may refer to those beside it."""
    schemas = {file.name: json.loads(file.read_text()) for file in path.parent.glob("*.schema.json")}
    registry = referencing.Registry().with_resources(
        (schema.get("$id", name), referencing.Resource.from_contents(schema)) for name, schema in schemas.items())
    schema = json.loads(path.read_text())
    return jsonschema.validators.validator_for(schema)(schema, registry=registry)


def faults_of_json(report, status):
    if report["exit_status"] != status:
        yield f"exit_status is {report['exit_status']}, not {status}"
    for key in ("errors", "warnings", "infos", "suppressed", "not_shown"):
        if report["summary"][key] != sum(file[key] for file in report["files"]):
            yield f"summary.{key} is not the sum over the files"
    for file in report["files"]:
        severities = [finding["severity"] for finding in file["findings"]]
        if severities != sorted(severities, key=["error", "warning", "info"].index):
            yield f"{file['path']}: findings are not in order of severity"


def faults_of_sarif(report, status):
    run = report["runs"][0]
    if run["invocations"][0]["exitCode"] != status:
        yield f"exitCode is {run['invocations'][0]['exitCode']}, not {status}"
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        if run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] != result["ruleId"]:
            yield f"{place['uri']}: ruleIndex does not lead to {result['ruleId']}"
        if run["artifacts"][place["index"]]["location"]["uri"] != place["uri"]:
            yield f"{place['uri']}: index does not lead to the artifact"
    for note in run["invocations"][0].get("toolExecutionNotifications", []):
        if run["tool"]["driver"]["rules"][note["associatedRule"]["index"]]["id"] != note["associatedRule"]["id"]:
            yield f"index does not lead to {note['associatedRule']['id']}"


def faults_of_infer(report, status):
    if status == 3 or (report["format"] == "onnxkit-infer" and (status == 1) !=
                       any(finding["severity"] == "error" for finding in report["findings"])):
        yield f"exit status {status} does not fit the findings"


def calls_of_check(folder):
    (folder / "good model #1%.onnxtxt").write_text(GOOD)
    (folder / "latin.onnx").write_bytes(LATIN)
    (folder / "unsorted.onnxtxt").write_text(UNSORTED)
    return [[str(folder / "unsorted.onnxtxt"), "--fix", "-o", str(folder / "mended.onnxtxt")],
            ["testdata/bad"], ["testdata/models"], [str(folder)], [str(folder / "good model #1%.onnxtxt")], ["no/such/file"],
            ["testdata/models", "--target", "onnxruntime", "--target", "tensorrt"],
            ["testdata/bad/axes", "--suppress", "axis-range,rank-mismatch"]]


def calls_of_infer():
    models = ["testdata/models/digits_broken.onnxtxt", "testdata/bad/declared/bad-output-shape.onnxtxt",
              *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "testdata/models").glob("*/*.onnx")))]
    return [[model] for model in models] + [["testdata/models/unet_shapes/model.onnx", "--why", "output"]]


def faults_of_run(report, status):
    if status != 0:
        yield f"exit status {status} with a report"


def calls_of_run():
    folders = ["control_flow", "ml", "sequence", "strings", "precision", "odd"]
    models = [path for folder in folders for path in sorted((ROOT / "testdata/exported" / folder).rglob("*.onnx"))]
    return [[str(path.relative_to(ROOT)), "-i", str(path.parent.relative_to(ROOT) / "test_data_set_0"), "--profile"] for path in models
            if "optional_input" not in str(path)]  # stored there as the content, which a folder of -i takes for another kind


def calls_of_backends(folder):
    (folder / "broken.py").write_text("raise SystemExit('not today')\n")
    shutil.copy(ROOT / "tests/workers/fake.py", folder)
    return [["--no-own-workers"], ["--no-own-workers", "--workers", str(folder)]]


def faults_of_diff(report, status):
    if status != (3 if not report["compared"] else report["verdict"] in ("beyond tolerance", "not rounding", "mismatch")):
        yield f"exit status {status} does not fit the verdict {report['verdict']}"


def calls_of_diff():
    """The reference against recorded answers: nothing else has to be there."""
    folders = ["control_flow", "ml", "sequence", "strings", "precision"]
    models = [path for folder in folders for path in sorted((ROOT / "testdata/exported" / folder).rglob("*.onnx"))]
    return [[str(path.relative_to(ROOT)), "--set", str(path.parent.relative_to(ROOT)), "--recorded", "-b", "reference"] for path in models
            if "optional_input" not in str(path)]  # as above


def faults_of_bench(report, status):
    if status != (3 if any("failure" in one for one in report["benchmarks"]) else any("failure" in side for one in report["benchmarks"] for side in one["sides"])):
        yield f"exit status {status} does not fit the failures"


def calls_of_bench():
    models = ["testdata/models/functions/" + path.name for path in sorted((ROOT / "testdata/models/functions").glob("*.onnx*"))[:2]]
    return [*([model, "-b", backend, "--max-time", "200ms", "--profile"] for model in models for backend in ("reference", "recorded")),
            [*models, "no/such/file", "-b", "reference", "--max-time", "200ms"]]


def faults_of_opset(report, status):
    refused = any(file.get("refusals") or (file.get("verified") or {}).get("verdict") == "different" for file in report["files"])
    if status != (3 if any("error" in file for file in report["files"]) else refused):
        yield f"exit status {status} does not fit the refusals"


def calls_of_opset(opset):
    return [[folder, "--opset", opset, "--dry-run", "--verify-limit", "1"]
            for folder in ("testdata/models/upsample", "testdata/models/functions", "testdata/models/control_flow", "no/such/file")]


def calls_of_inspect(folder):
    models = ["testdata/models", "testdata/exported/control_flow", "testdata/exported/sequence"]
    files = [path for folder_name in models for path in sorted((ROOT / folder_name).rglob("*.onnx"))]
    return [[str(folder / "latin.onnx")], ["testdata/models/digits_broken.onnxtxt"], *([str(path.relative_to(ROOT))] for path in files)]


def calls_of_plan():
    return [[str(path.relative_to(ROOT)), "--plan"] for path in sorted((ROOT / "testdata/exported/rnn").rglob("*.onnx"))]


def faults_of_error(report, status):
    if report["exit_status"] != status:
        yield f"exit_status is {report['exit_status']}, not {status}"


def calls_of_convert(folder):
    gemm, weights = "testdata/weights/gemm.onnxtxt", "testdata/weights"
    return [*([gemm, str(folder / "out.onnx"), "--weights", f"{weights}/{file}"] for file in ("checkpoint.pt", "other.safetensors")),
            [gemm, str(folder / "out.tflite"), "--no-verify", "--round-trip"], ["no/such/file", str(folder / "out.onnx")],
            ["testdata/models/control_flow", str(folder / "many"), "--to", "tflite", "--no-verify"]]


def faults_of_convert(report, status):
    files = report["files"]
    worst = max(0 if file["output"] else 1 if file["findings"] or file.get("error", {}).get("code") == "unsupported-operator" else 3 for file in files)
    if status != worst:
        yield f"exit status {status} does not fit the findings"


def calls_of_simplify():
    folders = ("testdata/models/upsample", "testdata/models/functions", "testdata/models/control_flow", "testdata/exported/rnn", "no/such/file")
    return [[folder, "--dry-run", "--verify-limit", "1"] for folder in folders]


def faults_of_simplify(report, status):
    worst = max(3 if "error" in file else 0 if file.get("verified", {}).get("verdict") in ("equal", "unjudged") else 1 for file in report["files"])
    if status != worst:
        yield f"exit status {status} does not fit the files"


def calls_of_extract(folder):
    model = "testdata/models/digits_broken.onnxtxt"
    return [[model, "-o", str(folder / "part.onnx"), "--to", name] for name in ("features", "act1")]


def calls_of_sweep():
    return [["check", "testdata/models/functions", "no/such/file"], ["infer --format text", "testdata/models/fc2"]]


def faults_of_sweep(report, status):
    if sum(report["outcomes"].values()) != len(report["results"]):
        yield "outcomes do not add up"
    if (status == 3) != (report["outcomes"]["failed"] > 0):
        yield f"exit status {status} does not fit the outcomes"


def calls_of_ops():
    return [[], ["Resize", "Upsample"], ["--domain", "com.microsoft"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--sarif-schema", type=pathlib.Path, default=HERE / "sarif-used.schema.json")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of each command the first call, and every N-th after it")
    options = parser.parse_args()
    schemas = ROOT / "docs/json"

    good = bad = 0
    with tempfile.TemporaryDirectory(prefix="onnxkit-formats-") as name:
        check = calls_of_check(pathlib.Path(name))
        workers = pathlib.Path(name) / "workers"
        workers.mkdir()
        forms = [("check", "json", schemas / "check.schema.json", faults_of_json, check),
                 ("check", "sarif", options.sarif_schema, faults_of_sarif, check),
                 ("infer", "json", schemas / "infer.schema.json", faults_of_infer, calls_of_infer()),
                 ("run", "json", schemas / "run.schema.json", faults_of_run, calls_of_run()),
                 ("backends", "json", schemas / "backends.schema.json", faults_of_run, calls_of_backends(workers)),
                 ("diff", "json", schemas / "diff.schema.json", faults_of_diff, calls_of_diff()),
                 ("bench", "json", schemas / "bench.schema.json", faults_of_bench, calls_of_bench()),
                 ("inspect", "json", schemas / "inspect.schema.json", faults_of_run, calls_of_inspect(pathlib.Path(name))),
                 ("inspect", "json", schemas / "plan.schema.json", faults_of_run, calls_of_plan()),
                 ("ops", "json", schemas / "ops.schema.json", faults_of_run, calls_of_ops()),
                 ("convert", "json", schemas / "convert.schema.json", faults_of_convert, calls_of_convert(pathlib.Path(name))),
                 ("upgrade", "json", schemas / "opset.schema.json", faults_of_opset, calls_of_opset("28")),
                 ("downgrade", "json", schemas / "opset.schema.json", faults_of_opset, calls_of_opset("5")),
                 ("simplify", "json", schemas / "simplify.schema.json", faults_of_simplify, calls_of_simplify()),
                 ("extract", "json", schemas / "extract.schema.json", faults_of_run, calls_of_extract(pathlib.Path(name))),
                 ("sweep", "json", schemas / "sweep.schema.json", faults_of_sweep, calls_of_sweep()),
                 ("extract", "json", schemas / "error.schema.json", faults_of_error, [["no/such/file", "-o", "out.onnx", "--to", "y"]]),
                 ("sweep", "json", schemas / "error.schema.json", faults_of_error, [["check --no-such-option", "testdata/models/functions"]]),
                 *((command, "json", schemas / "error.schema.json", faults_of_error, [["no/such/file"]])
                   for command in ("infer", "run", "inspect", "diff", "bench", "ops"))]
        for command, form, schema, more_faults, calls in forms:
            holds = validator(schema)
            for call in calls[:: options.every]:
                report, status = output(options.program.resolve(), command, [*call, "--format", form])
                faults = [f"{fault.json_path}: {fault.message[:300]}" for fault in holds.iter_errors(report)]
                faults = faults or list(more_faults(report, status))
                good, bad = (good, bad + 1) if faults else (good + 1, bad)
                for fault in faults[:5]:
                    print(f"{command} {' '.join(call)} --format {form}: {fault}")
    print(f"{good} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
