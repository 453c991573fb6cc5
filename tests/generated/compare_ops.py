#!/usr/bin/env python3
"""Holds `onnxkit ops --format json` against the schemas of the installed onnx package, fact by fact.

    compare_ops.py --program build/release/bin/onnxkit
"""
import argparse
import json
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import defs


def normalised(types):
    """Type strings in the one spelling that onnxkit prints."""
    return {re.sub(r"map\((\w+),(\w+)\)", r"map(\1,tensor(\2))", text.replace(" ", "")) for text in types}


def parameters_of(schema_parameters):
    for p in schema_parameters:
        yield {"name": p.name, "optional": p.option.name == "Optional", "variadic": p.option.name == "Variadic",
               "least": p.min_arity, "homogeneous": p.is_homogeneous, "types": normalised(p.types)}


def parameters_printed(version, side):
    for p in version[side]:
        yield {"least": 1, "homogeneous": True, **{key: value for key, value in p.items() if key != "type"},
               "types": set(version["types"][p["type"]])}


def same_default(printed, value):
    """Whether the text of a default, such as [0.5, 1.0], means `value` of the schema."""
    plain = lambda x: x.decode() if isinstance(x, bytes) else x
    want = [plain(x) for x in value] if isinstance(value, (list, tuple)) else plain(value)
    found = json.loads(printed)
    if isinstance(want, float) or (isinstance(want, list) and want and isinstance(want[0], float)):
        return np.array_equal(np.float32(found), np.float32(want))
    return found == want


def faults_of(schema, printed):
    for side, wanted in (("inputs", schema.inputs), ("outputs", schema.outputs)):
        if list(parameters_of(wanted)) != list(parameters_printed(printed, side)):
            yield f"{side} differ"
    attributes = {a["name"]: a for a in printed["attributes"]}
    if sorted(attributes) != sorted(schema.attributes):
        yield "the names of attributes differ"
        return
    for name, wanted in schema.attributes.items():
        found = attributes[name]
        has_default = bool(wanted.default_value.type)
        if (found["type"], found["required"], "default" in found) != (wanted.type.name.lower(), wanted.required, has_default):
            yield f"attribute {name} differs"
        elif has_default and not same_default(found["default"], onnx.helper.get_attribute_value(wanted.default_value)):
            yield f"the default of {name} is {found['default']}, not {wanted.default_value}"
    constraints = {t.type_param_str: normalised(t.allowed_type_strs) for t in schema.type_constraints}
    if {name: set(printed["types"].get(name, ())) for name in constraints} != constraints:
        yield "type constraints differ"
    if printed["deprecated"] != schema.deprecated:
        yield "deprecation differs"
    if printed["has_function_body"] != (schema.has_function or schema.has_context_dependent_function):
        yield "the function body differs"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, help="the program, named onnxkit")
    program = parser.parse_args().program
    listing = json.loads(subprocess.run([program, "ops", "--format", "json"], check=True, capture_output=True).stdout)
    printed = {(o["domain"], o["name"], v["since_version"]): v for o in listing["operators"] for v in o["versions"]}
    official = {d["name"] for d in listing["domains"] if d["official"]}
    schemas = {(s.domain or "ai.onnx", s.name, s.since_version): s for s in defs.get_all_schemas_with_history()}
    faults = [f"{key}: only one side has it" for key in sorted({k for k in printed if k[0] in official} ^ set(schemas))]
    faults += [f"{key}: {fault}" for key in sorted(set(printed) & set(schemas)) for fault in faults_of(schemas[key], printed[key])]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(schemas)} versions compared with onnx {onnx.__version__}, {len(faults)} faults")
    return 1 if faults or listing["onnx_release"] != onnx.__version__ else 0


if __name__ == "__main__":
    sys.exit(main())
