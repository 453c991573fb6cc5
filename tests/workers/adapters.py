#!/usr/bin/env python3
"""Runs small models with recorded outputs on a worker of tools/workers and compares.

    tests/workers/adapters.py [--fake] [--record] [-v] ADAPTER...     e.g. onnxruntime

What a runtime cannot do or does otherwise is told in testdata/workers/limits.yaml with its reason; an outcome that is not as told there is a
failure. Where the package is missing, or with --fake, what can be tested without it is: with a fake of the package's interface
(tests/workers/fakes). --record writes the answers to testdata/workers/fixtures.
"""
import argparse
import json
import pathlib
import sys

import onnx
import yaml

import fixtures
import profiles
import recorded
from host import Answer, Host

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from suite import Suite

DATA = ROOT / "testdata"
FAKES = ROOT / "tests/workers/fakes"
# Models in ONNX for fixtures and fakes, and options with which the recorded outputs must come out where the default computes in a shorter type.
FEW = {"onnx:exported/upsample/opset13_linear_half_pixel", "onnx:exported/ml/kmeans_iris", "onnx:exported/precision/fc2_bf16_weights"}
PROFILES = {"onnxruntime", "openvino"}
OPTIONS = {"openvino": {"precision": "f32"}}


class Case:
    """A model file, its test data, and how far its outputs may be off."""

    def __init__(self, folder, path, format, atol, rtol):
        self.folder, self.path, self.format, self.atol, self.rtol = folder, path, format, atol, rtol
        self.name = f"{format}:{folder.relative_to(DATA)}" + ("" if path.name == "model.onnx" else f"/{path.name}")

    def runs(self, ports):
        """({input: value}, [output]) of each test data set; without an ONNX model values go to ports in their order."""
        kinds = recorded.kinds(onnx.load(self.path, load_external_data=False)) if self.format == "onnx" else ([], [])
        for data in sorted(self.folder.glob("test_data_set_*")):
            sides = []
            for side, declared in zip(("input", "output"), kinds):
                files = [data / f"{side}_{place}.pb" for place in range(len(list(data.glob(f"{side}_*.pb"))))]
                values = [recorded.read(file, declared[place][1] if place < len(declared) else "tensor") for place, file in enumerate(files)]
                if declared:
                    values = [(declared[place][0] if place < len(declared) else name, value) for place, (name, value) in enumerate(values)]
                sides.append(values)
            inputs, outputs = sides
            if not kinds[0] and self.format != "onnx":
                inputs = [(port["name"], value) for port, (_, value) in zip(ports, inputs)]
            yield data.name, dict(inputs), [value for _, value in outputs]


# Of a run of FEW a profile that counts in whole microseconds, as OpenVINO's does, may have nothing.
LONG = Case(DATA / "models/unet_shapes", DATA / "models/unet_shapes/model.onnx", "onnx", 0, 0)


def cases(formats, few):
    """All models of the kinds that a backend loads, or few of those in ONNX."""
    found = []
    if "onnx" in formats:
        for entry in json.loads((DATA / "exported/manifest.json").read_text())["models"]:
            folder = DATA / "exported" / entry["folder"]
            found.append(Case(folder, folder / entry["model"], "onnx", entry["atol"], entry["rtol"]))
        found += [Case(path.parent, path, "onnx", 1e-6, 1e-6) for path in sorted((DATA / "recorded").glob("*/model.onnx"))]
    for entry in json.loads((DATA / "workers/models/manifest.json").read_text())["models"]:
        if entry["format"] in formats:
            folder = DATA / "workers/models" / entry["folder"]
            found.append(Case(folder, folder / entry["file"], entry["format"], entry["atol"], entry["rtol"]))
    return [case for case in found if not few or case.format != "onnx" or case.name in FEW]


def outcome(host, case, options):
    """"" where all is as recorded, or what is not."""
    try:
        model = host.request("load", path=str(case.path), format=case.format, options=options)
        count = 0
        for name, inputs, outputs in case.runs(model["inputs"]):
            results, samples = host.run(model["model"], inputs, repeat=2, warmup=1)
            if len(samples) != 2 or any(wall <= 0 for wall, _ in samples):
                return f"samples {samples}"
            if len(results) != len(outputs):
                return f"{len(results)} outputs instead of {len(outputs)}"
            for (output, got), want in zip(results.items(), outputs):
                if fault := recorded.difference(got, want, case.atol, case.rtol, f"{name} {output}"):
                    return f"differs: {fault}"
            count += 1
        host.request("unload", model=model["model"])
        return "" if count else "no test data"
    except Answer as error:
        return f"{error.kind}: {' '.join(error.message.split())}"


def fault_of_profile(host, case, options):
    """Steps of runs take no more time than the runs, in LONG some, and are called after nodes of the model. None where the worker tells nothing."""
    model = host.request("load", path=str(case.path), format=case.format, options=options)
    inputs = {"input": (onnx.TensorProto.FLOAT, (1, 3, 64, 64), bytes(4 * 3 * 64 * 64))} if case is LONG else next(case.runs(model["inputs"]))[1]
    try:
        profile = host.profile(model["model"], inputs, repeat=3, warmup=1)
    except Answer as error:
        return None if error.kind in ("unsupported", "invalid") else str(error)
    finally:
        host.request("unload", model=model["model"])
    walls, steps = profile["walls"], profile["steps"]
    if not steps or not 1 <= len(walls) <= 3:
        return f"{len(steps)} steps, {len(walls)} runs"
    if any(len(step["spans"]) != len(walls) or any(seconds < 0 for _, seconds in step["spans"]) for step in steps):
        return "spans that are not one for each run, or negative"
    for run, wall in enumerate(walls):
        taken = sum(step["spans"][run][1] for step in steps)
        if profile["device"] == "cpu" and (taken > 1.05 * wall + 1e-5 * len(steps) or taken == 0 and case is LONG):
            return f"steps of {taken} s in a run of {wall} s"
    graph = onnx.load(case.path, load_external_data=False).graph if case.format == "onnx" else None
    names = {name for node in graph.node for name in (node.name, *node.output)} if graph else set()
    return "no step is called after a node" if graph and not any(step["place"] is not None or any(name in names for name in step["covers"]) for step in steps) else ""


def held_against(fault, limit):
    """(fault, note): what limits.yaml tells is no fault."""
    if limit is None:
        return fault, ""
    if fault.startswith(limit["gives"]) and limit.get("says", "") in fault or not fault and limit.get("maybe", False):
        return "", fault[:150]
    return f"{fault or 'as recorded'}; limits.yaml tells {limit['gives']} {limit.get('says', '')}", ""


def run_adapter(name, suite, arguments):
    groups = yaml.safe_load((DATA / "workers/limits.yaml").read_text()).get(name, [])
    limits = {case: group for group in groups for case in group["cases"]}
    options = OPTIONS.get(name, {})
    for what, fault in profiles.alone(name):
        suite.check(f"{name} {what}", fault)
    with started(name, arguments) as host:
        try:
            hello = host.request("hello", protocol=1)
        except Answer as error:
            if error.kind == "unavailable":
                without_package(name, suite, error.message)
            else:
                suite.check(f"{name} hello", str(error))
            return
        print(f"{name}: {hello['runtime']} {hello['version']}")
        todo = cases(hello["formats"], arguments.fake)
        for case in todo:
            limit = limits.get(case.name)
            suite.check(f"{name} {case.name}", *held_against(outcome(host, case, options), limit))
            if limit and "unless" in limit:
                suite.check(f"{name} {case.name} {limit['unless']}", outcome(host, case, options | limit["unless"]))
        profiled = [case for case in todo if case.name in FEW and case.name not in limits] + ([LONG] if "onnx" in hello["formats"] and not arguments.fake else [])
        profiled = [fault_of_profile(host, case, options) for case in profiled]
        if name in PROFILES or any(fault is not None for fault in profiled):
            suite.check(f"{name} profiles", "; ".join("it tells nothing" if fault is None else fault for fault in profiled if fault != ""))
        for what, fault in profiles.faults(host, options) if name in PROFILES and not arguments.fake else ():
            suite.check(f"{name} {what}", fault)
        for what, fault in faults(host, todo[0]):
            suite.check(f"{name} {what}", fault)
        host.request("quit")
    suite.check(f"{name} end", f"exit status {host.process.returncode}: {host.log[-500:]}" if host.process.returncode else "")
    suite.check(f"{name} memory", "memory of the device is left" if "leaked:" in host.log else "")
    check_options(name, suite, arguments, hello, next((case for case in reversed(todo) if case.format != "onnx"), todo[0]))
    if arguments.record:
        own = [case for case in todo if case.format != "onnx"] or [case for case in todo if case.name in FEW]
        fixtures.record(name, own[:3], options)
    if not arguments.fake:
        with started(name, arguments) as host:
            for what, fault in fixtures.check(host, name):
                suite.check(f"{name} fixture {what}", fault)


def check_options(name, suite, arguments, hello, case):
    """Every value of every option, at the tolerance of a shorter type; threads on a worker of their own, as some fix them once."""
    rough = Case(case.folder, case.path, case.format, 0.05, 0.05)
    with started(name, arguments) as host:
        host.request("hello", protocol=1)
        for option, fields in hello["options"].items():
            for value in fields.get("values", []):
                suite.check(f"{name} {option}={value}", outcome(host, rough, {option: value}))
    if "threads" in hello["options"]:
        with started(name, arguments) as host:
            host.request("hello", protocol=1)
            suite.check(f"{name} threads=1", outcome(host, rough, {"threads": "1"}))
            suite.check(f"{name} threads=many", refusal(host, ("invalid",), "load", path=str(case.path), format=case.format, options={"threads": "many"}))


def started(name, arguments):
    return Host(ROOT / "tools/workers" / f"{name}.py", environment={"PYTHONPATH": str(FAKES / name)} if arguments.fake else {})


def without_package(name, suite, reason):
    """Counts what is skipped, and does what the fixture allows."""
    if not fixtures.path_of(name).exists():
        suite.skip(1, f"{name}: {reason}")
        return
    formats = fixtures.exchanges(name)[0]["answer"]["formats"]
    suite.skip(len(cases(formats, False)), f"{name}: {reason}")
    with Host(ROOT / "tests/workers/replay.py", environment={"ONNXKIT_FIXTURE": str(fixtures.path_of(name))}) as host:
        for what, fault in fixtures.check(host, name):
            suite.check(f"{name} fixture {what}", fault)


def faults(host, case):
    """(request, fault) for requests that a worker must refuse, and after which it goes on."""
    wrong = {"path": str(case.path), "format": case.format, "options": {}}
    yield "an unknown option", refusal(host, "invalid", "load", **wrong | {"options": {"no such": "1"}})
    yield "a missing file", refusal(host, "invalid", "load", **wrong | {"path": "no such file"})
    yield "an unknown format", refusal(host, "unsupported", "load", **wrong | {"format": "no such"})
    yield "an unknown model", refusal(host, "invalid", "run", model=9999, inputs=[], outputs=None, repeat=1, warmup=0)
    yield "a file that is none", refusal(host, ("failed", "unsupported"), "load", **wrong | {"path": __file__})


def refusal(host, kinds, op, **fields):
    try:
        host.request(op, **fields)
        return "no error"
    except Answer as error:
        return "" if error.kind in kinds else str(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adapters", nargs="+")
    parser.add_argument("--fake", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    suite = Suite(arguments.verbose)
    for name in arguments.adapters:
        run_adapter(name, suite, arguments)
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
