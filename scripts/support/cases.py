"""Conformance models for one version of one operator: official node cases moved to that version, or recipes, and retyped."""
import dataclasses

import ml_dtypes
import numpy as np
import onnx
from onnx import defs, helper, numpy_helper, shape_inference

from . import recipes

# Attributes of old versions that later became inputs under another name.
OLD_ATTRIBUTE = {("TopK", "K"): "k", ("Pad", "constant_value"): "value"}
# Attributes that choose the element type of an output which no input determines.
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype")
TENSOR_ATTRIBUTES = ("value",)


@dataclasses.dataclass
class Case:
    """One node with its inputs. `values` holds a proto for each input of the node that is given."""

    node: onnx.NodeProto
    values: dict  # input name -> (TypeProto, proto of the value)
    outputs: list  # [(name, TypeProto)]


def tensor_type(name):
    """'tensor(float)' -> TensorProto.FLOAT, None for anything else."""
    word = name[len("tensor("):-1].upper()
    return onnx.TensorProto.DataType.Value(word) if name.startswith("tensor(") and word in onnx.TensorProto.DataType.keys() else None


def type_name(proto):
    """ONNX type string of a TypeProto, without 'tensor()' around element types."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        return onnx.TensorProto.DataType.Name(proto.tensor_type.elem_type).lower()
    if kind == "sequence_type":
        return f"seq({type_name(proto.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_name(proto.optional_type.elem_type)})"
    if kind == "map_type":
        key = onnx.TensorProto.DataType.Name(proto.map_type.key_type).lower()
        return f"map({key},{type_name(proto.map_type.value_type)})"
    return ""


def as_proto(value, type_proto, name):
    """The proto that holds a case's input, whatever Python form the case gave it."""
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto, onnx.MapProto)):
        return value
    kind = type_proto.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, name)
    if kind == "map_type":
        return map_proto(value, name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, name)
    return numpy_helper.from_array(np.asarray(value), name)


def map_proto(value, name):
    """numpy_helper.from_dict, which knows no string keys."""
    proto = onnx.MapProto(name=name, values=numpy_helper.from_list([np.asarray(v, np.float32) for v in value.values()]))
    if isinstance(next(iter(value)), str):
        proto.key_type = onnx.TensorProto.STRING
        proto.string_keys.extend(k.encode() for k in value)
    else:
        proto.key_type = onnx.TensorProto.INT64
        proto.keys.extend(value)
    return proto


def official_cases():
    """(domain, operator) -> [(schema, Case)] of the official single-node cases, smallest inputs first."""
    from onnx.backend.test.case.node import collect_testcases

    found = {}
    with np.errstate(all="ignore"):
        collected = collect_testcases(None)
    for test in collected:
        graph = test.model.graph
        if len(graph.node) != 1 or test.model.functions:
            continue
        node = graph.node[0]
        opset = next(o.version for o in test.model.opset_import if (o.domain or "ai.onnx") == (node.domain or "ai.onnx"))
        schema = defs.get_schema(node.op_type, opset, node.domain)
        values = {}
        for info, value in zip(graph.input, test.data_sets[0][0]):
            values[info.name] = (info.type, as_proto(value, info.type, info.name))
        case = Case(node, values, [(info.name, info.type) for info in graph.output])
        found.setdefault((node.domain, node.op_type), []).append((schema, case))
    for cases in found.values():
        cases.sort(key=lambda pair: sum(proto.ByteSize() for _, proto in pair[1].values.values()))
    for domain, name, version, case in recipes.all_cases():
        schema = defs.get_schema(name, version, domain) if version else newest_schema(domain, name)
        found.setdefault((domain, name), []).append((schema, case))
    return found


def newest_schema(domain, name):
    return max((s for s in defs.get_all_schemas_with_history() if (s.domain, s.name) == (domain, name)), key=lambda s: s.since_version)


def formal(parameters, index):
    """The formal parameter that stands for an actual one, the last when it is variadic."""
    if index < len(parameters):
        return parameters[index]
    return parameters[-1] if parameters and parameters[-1].option == defs.OpSchema.FormalParameterOption.Variadic else None


def retarget(case, made_for, schema):
    """The case for another version of its operator, or None when that version cannot express it."""
    node = onnx.NodeProto()
    node.CopyFrom(case.node)
    values = dict(case.values)
    known = schema.attributes
    for attribute in list(node.attribute):
        if attribute.name in known:
            continue
        default = made_for.attributes[attribute.name].default_value if attribute.name in made_for.attributes else None
        if default is None or helper.get_attribute_value(default) != helper.get_attribute_value(attribute):
            return None
        node.attribute.remove(attribute)
    slots = place_inputs(node, made_for, schema, values)
    if slots is None:
        return None
    del node.input[:]
    node.input.extend(slots)
    outputs = [o for o in case.outputs if o[0] in list(node.output)[: schema.max_output]]
    del node.output[min(schema.max_output, len(node.output)):]
    for name, attribute in known.items():
        if attribute.required and not any(a.name == name for a in node.attribute):
            if name != "consumed_inputs":
                return None
            node.attribute.append(helper.make_attribute(name, [0] * len(node.input)))
    if not schema.min_input <= len(node.input) <= schema.max_input or len(node.output) < schema.min_output:
        return None
    return Case(node, {n: v for n, v in values.items() if n in used_names(node)}, outputs)


def place_inputs(node, made_for, schema, values):
    """The node's inputs in the order of another version. What was an attribute there is moved into `node`; None when that cannot be."""
    then, now = [p.name for p in made_for.inputs], [p.name for p in schema.inputs]
    slots = []
    for index, name in enumerate(node.input):
        parameter = formal(made_for.inputs, index)
        if parameter is None:
            return None
        if parameter.name in now:
            position = max(index - then.index(parameter.name), 0) + now.index(parameter.name)
        elif index < len(now) and now[index] not in then:
            position = index
        elif not name:
            continue
        else:
            attribute = OLD_ATTRIBUTE.get((node.op_type, parameter.name), parameter.name)
            given = attribute in schema.attributes and to_attribute(attribute, schema.attributes[attribute].type, values.pop(name)[1])
            if not given:
                return None
            node.attribute.append(given)
            continue
        slots += [""] * (position + 1 - len(slots))
        slots[position] = name
    while slots and not slots[-1]:
        slots.pop()
    return slots


def used_names(node):
    """Names a node reads, those that its subgraphs take from outside included."""
    names = set(node.input)
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else list(attribute.graphs)
        for graph in graphs:
            for inner in graph.node:
                names |= used_names(inner)
    return names


def to_attribute(name, kind, proto):
    if not isinstance(proto, onnx.TensorProto):
        return None
    array = numpy_helper.to_array(proto)
    make = {"INT": int, "FLOAT": float, "INTS": lambda v: [int(x) for x in v], "FLOATS": lambda v: [float(x) for x in v]}.get(kind.name)
    if make is None or array.size == 0:
        return None
    return helper.make_attribute(name, make(array.reshape(-1) if kind.name.endswith("S") else array.reshape(-1)[0]))


def cast_array(array, dtype):
    """Values of one case in another element type: close to the old ones where that is safe, small and positive where not."""
    if dtype == onnx.TensorProto.STRING:
        return np.array([str(v) for v in array.reshape(-1)], object).reshape(array.shape)
    target = helper.tensor_dtype_to_np_dtype(dtype)
    if array.dtype == object or array.dtype.kind in "US":
        array = np.arange(array.size).reshape(array.shape) % 3
    if target == np.bool_:
        return array.astype(np.float32) != 0
    if np.issubdtype(array.dtype, np.complexfloating):
        array = array.real
    if np.issubdtype(array.dtype, np.integer):
        return np.clip(array, *integer_range(target)).astype(target) if "int" in target.name else array.astype(target)
    array = np.nan_to_num(array.astype(np.float32), nan=1.0, posinf=3.0, neginf=1.0)
    if "float" in target.name or "complex" in target.name:
        return array.astype(target)
    # No zero, so that nothing divides by it; 1 is the greatest int2.
    return np.clip(np.rint(np.abs(array)), 1, 1 if target.name == "int2" else 3).astype(target)


def integer_range(target):
    info = ml_dtypes.iinfo(target)
    return max(int(info.min), -(2**31)), min(int(info.max), 2**31 - 1)


def retype(case, schema, constraint, dtype):
    """The case with every input of one type constraint (and the attribute that sets an output of it) in another element type."""
    node = onnx.NodeProto()
    node.CopyFrom(case.node)
    values = dict(case.values)
    touched = False
    for index, name in enumerate(node.input):
        parameter = formal(schema.inputs, index)
        if not name or parameter is None or parameter.type_str != constraint or name not in values:
            continue
        proto = values[name][1]
        if not isinstance(proto, onnx.TensorProto):
            return None
        array = cast_array(numpy_helper.to_array(proto), dtype)
        values[name] = (helper.make_tensor_type_proto(dtype, array.shape), tensor_of(name, dtype, array))
        touched = True
    if not touched:
        touched = set_output_type(node, schema, constraint, dtype)
    return Case(node, values, case.outputs) if touched else None


def tensor_of(name, dtype, array):
    if dtype == onnx.TensorProto.STRING:
        return helper.make_tensor(name, dtype, array.shape, [str(v).encode() for v in array.reshape(-1)])
    return numpy_helper.from_array(np.asarray(array, order="C"), name)  # ascontiguousarray makes a scalar a list


def set_output_type(node, schema, constraint, dtype):
    if not any(p.type_str == constraint for p in schema.outputs):
        return False
    for attribute in node.attribute:
        if attribute.name in TYPE_ATTRIBUTES and attribute.type == onnx.AttributeProto.INT:
            attribute.i = dtype
            return True
        if attribute.name in TENSOR_ATTRIBUTES and attribute.type == onnx.AttributeProto.TENSOR:
            array = cast_array(numpy_helper.to_array(attribute.t), dtype)
            attribute.t.CopyFrom(tensor_of(attribute.t.name, dtype, array))
            return True
    name = next((n for n in TYPE_ATTRIBUTES if n in schema.attributes), None)
    if name is None:
        return False
    node.attribute.append(helper.make_attribute(name, dtype))
    return True


def build(case, schema, opset, ir_version, constant=()):
    """The one-node model with the inputs in `constant` as initializers, or None when the onnx package refuses it."""
    inputs = [helper.make_value_info(n, t) for n, (t, _) in case.values.items() if n not in constant]
    weights = [renamed(p, n) for n, (_, p) in case.values.items() if n in constant and isinstance(p, onnx.TensorProto)]
    if len(inputs) + len(weights) != len(case.values):
        return None
    imports = [helper.make_opsetid(schema.domain, opset)]
    if schema.domain:
        imports.append(helper.make_opsetid("", 13))
    # Types of outputs come from inference, since those of the case stand for its own version and types.
    outputs = [onnx.ValueInfoProto(name=n) for n in case.node.output if n]
    graph = helper.make_graph([case.node], "case", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=imports, ir_version=ir_version)
    context = onnx.checker.C.CheckerContext()
    context.ir_version = ir_version
    context.opset_imports = {o.domain: o.version for o in imports}
    try:
        if not set(case.values) - set(case.node.input):  # the checker of a single node knows no outer scope
            onnx.checker.check_node(case.node, context)
        # A few function bodies of the onnx package fail its own strict inference.
        model = shape_inference.infer_shapes(model, check_type=True, strict_mode=not schema.has_function, data_prop=True)
    except Exception:  # the onnx package raises a family of unrelated types
        return None
    complete_outputs(model, case, schema)
    return model


def complete_outputs(model, case, schema):
    """Fills in the output types that inference left open: from the case, with the element type that the inputs imply."""
    bound = binding(model, schema)
    declared = dict(case.outputs)
    for index, name in enumerate(case.node.output):
        info = next((i for i in model.graph.output if i.name == name), None)
        if info is None or name not in declared or info.HasField("type") and info.type.WhichOneof("value") != "tensor_type":
            continue
        known = info.type.tensor_type.elem_type or tensor_type(f"tensor({bound.get(formal(schema.outputs, index).type_str)})")
        if info.type.tensor_type.HasField("shape"):
            continue
        info.type.CopyFrom(declared[name])
        if known and info.type.WhichOneof("value") == "tensor_type":
            info.type.tensor_type.elem_type = known


def renamed(proto, name):
    copy = onnx.TensorProto()
    copy.CopyFrom(proto)
    copy.name = name
    return copy


def binding(model, schema, node=None):
    """Type constraint -> type of the first value that it stands for, as the model has them. `node`: the model's only one."""
    types = {info.name: type_name(info.type) for info in [*model.graph.input, *model.graph.value_info, *model.graph.output]}
    types |= {w.name: onnx.TensorProto.DataType.Name(w.data_type).lower() for w in model.graph.initializer}
    constraints = {c.type_param_str for c in schema.type_constraints}
    bound = {}
    node = node or model.graph.node[0]
    for parameters, names in ((schema.inputs, node.input), (schema.outputs, node.output)):
        for index, name in enumerate(names):
            parameter = formal(parameters, index)
            if name and parameter and parameter.type_str in constraints and types.get(name):
                bound.setdefault(parameter.type_str, types[name])
    return bound
