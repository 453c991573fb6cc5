"""Models of other frameworks with recorded inputs and outputs: each becomes ONNX that `check` accepts and that gives what was recorded, by the
noise floor."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from suite import Suite

RIGHT = {"identical", "rounding"}


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def unpack(values, folder):
    """The arrays of a case as input_0.pb, output_0.pb ..."""
    for name in values.files:
        (folder / f"{name}.pb").write_bytes(numpy_helper.from_array(values[name]).SerializeToString())


def is_within_a_step(program, result, values, name):
    """Whether integers that stand for real numbers differ by one at most: two ways of rounding that are both right. In cases named "halves" results
    lie next to one, and are to be the recorded ones."""
    recorded = numpy.load(values)
    index = [output.name for output in onnx.load(result).graph.output].index(name)
    expected = recorded[f"output_{index}"]
    if expected.dtype.kind not in "iu":
        return False
    folder = result.parent / "outputs"
    run(program, "run", result, "-i", result.parent / "values", "--output-dir", folder)
    tensor = onnx.TensorProto.FromString((folder / f"output_{index}.pb").read_bytes())
    return abs(numpy_helper.to_array(tensor).astype(int) - expected.astype(int)).max() <= (0 if "halves" in values.stem else 1)


def fault_of(program, source, folder, options=(), compares=True):
    result = folder / "result.onnx"
    converted = run(program, "convert", "--no-verify", source, result, *options)
    if converted.returncode != 0:
        return "not converted: " + " ".join(converted.stderr.split())[:300]
    if not compares:
        return ""
    checked = run(program, "check", result)
    if checked.returncode != 0 or "warning" in checked.stdout:
        return "check: " + " ".join(checked.stdout.split())[:300]
    values = folder / "values"
    values.mkdir()
    unpack(numpy.load(source.with_suffix(".npz")), values)
    compared = run(program, "diff", result, "-b", "reference", "--set", values, "--recorded", "--format", "json")
    try:
        sides = json.loads(compared.stdout)["sides"]
    except (json.JSONDecodeError, KeyError):
        return "not compared: " + " ".join(compared.stderr.split())[:300]
    verdicts = [(output["name"], output["verdict"]) for side in sides for output in side.get("outputs", [])]
    wrong = [f"{name} is {verdict}" for name, verdict in verdicts
             if (verdict not in RIGHT or "halves" in source.stem) and
             not (verdict in ("undecidable", *RIGHT) and is_within_a_step(program, result, source.with_suffix(".npz"), name))]
    if not verdicts:
        return "not compared: " + " ".join((compared.stderr + str([side.get("failure") for side in sides])).split())[:300]
    return ", ".join(wrong)


def main(about, folder, *endings, options_of=lambda name: ()):
    """The cases are files and folders of these endings, each with an .npz beside it; `options_of` gives what `convert` needs for one."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--convert-only", action="store_true", help="for sanitizers, which have check and diff in other tests")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="the first, and every N-th after it")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    suite = Suite(options.verbose)
    for source in sorted(path for ending in endings for path in (ROOT / folder).glob("*" + ending))[:: options.every]:
        if options.names and source.stem not in options.names:
            continue
        with tempfile.TemporaryDirectory() as results:
            suite.check(source.stem, fault_of(options.program, source, pathlib.Path(results), options_of(source.stem), not options.convert_only))
    return suite.close()
