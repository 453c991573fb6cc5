#!/usr/bin/env python3
"""Computes expected values of testdata/ops anew: every case whose source is "onnxruntime VERSION" is run by ONNX Runtime and compared.

    python tests/oracle/op_values.py [FILE...]     default: all of testdata/ops

Prints the cases that differ or that ONNX Runtime does not run, then how many agree; the exit status is 1 when one differs.
"""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import yaml
from onnx import helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

CASES = pathlib.Path(__file__).resolve().parents[2] / "testdata/ops"
TYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "bool": "bool", "str": "object", "float": "float32", "double": "float64"}
TYPES |= {f"{letter}{bits}": f"{name}int{bits}" for letter, name in (("i", ""), ("u", "u")) for bits in (8, 16, 32, 64)}
CONTRIB = {schema.name: schema for schema in ort_state.get_all_operator_schema() if schema.domain == "com.microsoft"}


class Skipped(Exception):
    """A case that cannot be compared here."""


def array_of(spec):
    name = str(spec["type"]).split("[")[0]
    if name not in TYPES:
        raise Skipped(f"type {name}")
    array = np.array(spec["values"], dtype=TYPES[name])
    sizes = spec.get("shape")
    if sizes and all(isinstance(size, int) for size in sizes):
        array = array.reshape(sizes)
    return array


def attribute_kind(op, domain, opset, name):
    """int, float or None where the value itself tells."""
    if domain == "com.microsoft":
        known = CONTRIB[op].attributes.get(name) if op in CONTRIB else None
        text = str(known.type) if known else ""
    else:
        known = onnx.defs.get_schema(op, opset, domain).attributes.get(name)
        text = str(known.type) if known else ""
    return float if "FLOAT" in text else None


def attribute_value(value, kind):
    if isinstance(value, dict):
        return numpy_helper.from_array(array_of(value))
    if kind is None:
        return value
    return [kind(one) for one in value] if isinstance(value, list) else kind(value)


def node_model(case, op, domain, opset):
    names, infos, feeds = [], [], {}
    for name, spec in (case.get("inputs") or {}).items():
        names.append("" if spec is None else str(name))
        if spec is None:
            continue
        if not isinstance(spec, dict) or "values" not in spec:
            raise Skipped("an input without values")
        array = array_of(spec)
        element = onnx.TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)
        infos.append(helper.make_tensor_value_info(names[-1], element, array.shape))
        feeds[names[-1]] = array
    outputs = [str(name) if spec is not None else "" for name, spec in case["outputs"].items()]
    attributes = {str(name): attribute_value(value, attribute_kind(op, domain, opset, str(name)))
                  for name, value in (case.get("attrs") or {}).items()}
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    graph = helper.make_graph([node], "case", infos, [onnx.ValueInfoProto(name=name) for name in outputs if name])
    imports = [helper.make_opsetid(domain, opset)] + ([helper.make_opsetid("", 20)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=10), feeds


def results(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return dict(zip([output.name for output in session.get_outputs()], session.run(None, feeds)))
    except Exception as error:  # ONNX Runtime raises types of its own
        raise Skipped(str(error).splitlines()[0][:150]) from error


def newest_opset(op, domain, first, last):
    """The newest version of the operator in the range that this ONNX Runtime may know."""
    newest = 1 if domain == "com.microsoft" else 5 if domain == "ai.onnx.ml" else 20
    if domain == "ai.onnx.ml" and onnx.defs.get_schema(op, newest, domain).deprecated:
        newest = 3
    return max(min(newest, last), first)


def compare(case, op, domain):
    """Texts of what differs."""
    low, _, high = str(case.get("opset", "1..")).partition("..")
    first = int(low)
    last = int(high) if high else first if ".." not in str(case.get("opset", "1..")) else 99
    opset = newest_opset(op, domain, first, last)
    if "model" in case:
        model, feeds = onnx.parser.parse_model(case["model"].replace("OPSET", str(opset))), {}
    else:
        model, feeds = node_model(case, op, domain, opset)
    computed = results(model, feeds)
    for name, spec in case["outputs"].items():
        if not isinstance(spec, dict) or "values" not in spec:
            continue
        expected, got = array_of(spec), np.asarray(computed[str(name)])
        if got.shape != expected.shape and expected.size > 0:
            yield f"{name} has the shape {got.shape}, not {expected.shape}"
        elif expected.dtype == object or expected.dtype == bool:
            if not (got == expected).all():
                yield f"{name} differs"
        elif expected.size and not np.allclose(got.astype(float), expected.astype(float), float(case.get("rtol", 1e-5)), float(case.get("atol", 1e-7)), True):
            yield f"{name} differs by {np.nanmax(np.abs(got.astype(float) - expected.astype(float)))}"


def main():
    files = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(CASES.glob("*.yaml"))
    agreeing = differing = skipped = 0
    for path in files:
        document = yaml.safe_load(path.read_text())
        for case in document["cases"]:
            if not re.fullmatch(r"onnxruntime [\d.]+", str(case.get("source", ""))):
                continue
            op, domain = case.get("op", document.get("op")), case.get("domain", document.get("domain", ""))
            try:
                faults = list(compare(case, op, domain))
            except Skipped as reason:
                skipped += 1
                print(f"{path.name}: {op} \"{case['name']}\": not run: {reason}")
                continue
            agreeing, differing = agreeing + (not faults), differing + bool(faults)
            for fault in faults:
                print(f"{path.name}: {op} \"{case['name']}\": {fault}")
    print(f"ONNX Runtime {onnxruntime.__version__}: {agreeing} agree, {differing} differ, {skipped} not run")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
