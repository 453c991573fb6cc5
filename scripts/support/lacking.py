"""Operators that a runtime has no rule for at all. A node of float inputs is enough to see it: the rule is looked up before the inputs are."""
import pathlib

import onnx
import yaml
from onnx import helper

from .profile import Entry
from .runtimes import NO_RULE

PACKS = pathlib.Path(__file__).resolve().parents[2] / "libonnxkit" / "spec" / "schemas"


def lacks(worker, domain, op, inputs, outputs, opset, ir_version):
    names = [f"x{i}" for i in range(inputs)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], domain=domain)
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 2]) for name in names]
    results = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in node.output]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(domain, opset)] if domain else [helper.make_opsetid("", opset)]
    model = helper.make_model(helper.make_graph([node], "rule", infos, results), opset_imports=imports, ir_version=ir_version)
    return worker.try_model(model, None) == ("refused", NO_RULE)


def required(parameters):
    return max(sum(not parameter.get("optional") for parameter in parameters), 1)


def foreign_operators(worker, domain, ir_version):
    """{operator: [Entry]} of those of a schema pack's domain without a rule."""
    pack = yaml.safe_load((PACKS / f"{domain}.yaml").read_text(encoding="utf-8"))
    refused = [Entry([], "refused", NO_RULE)]
    return {
        operator["name"]: refused
        for operator in pack["operators"]
        if lacks(worker, domain, operator["name"], required(operator["inputs"]), required(operator["outputs"]), 1, ir_version)
    }
