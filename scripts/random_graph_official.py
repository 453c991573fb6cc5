"""Cases of the official tests in new surroundings, for scripts/random_graphs: something before their inputs and behind their outputs, inputs as constants."""
import functools
import math
import os
import pathlib

import onnx

from random_graph_builder import (TYPES, Builder, Invalid, Value, names_read, through_cast, through_dropout, through_identity, through_reshapes, through_slices,
                                  through_transposes, with_a_neutral_operation, with_a_reader)
from random_graph_nodes import add, cast, concat, mul, random_slice, transpose, unary
from random_graph_patterns import activation, plain

CASES = pathlib.Path(os.environ.get("ONNXKIT_OFFICIAL", pathlib.Path(__file__).resolve().parent.parent / "build" / "official")) / "node"
NAMES = {number: name for name, number in TYPES.items()}
RANDOM = ("Random", "Bernoulli", "Multinomial", "Dropout", "dropout", "bernoulli", "training", "gradient", "adam", "adagrad", "momentum")
LARGEST = 4000
KEEPING = (through_identity, through_cast, through_dropout, through_reshapes, through_slices, through_transposes, with_a_neutral_operation, with_a_reader)
WIDENING = {"float": "double", "float16": "float", "bfloat16": "float", "int8": "int32", "uint8": "int32", "int32": "int64", "bool": "int32"}


@functools.lru_cache(maxsize=1)
def cases():
    return sorted(path.parent for path in CASES.glob("test_*/model.onnx")
                  if (path.parent / "test_data_set_0").is_dir() and not any(word in path.parent.name for word in RANDOM))


@functools.lru_cache(maxsize=256)
def case_of(folder):
    """The model with the tensors of its inputs and outputs and its opset; nothing where others than small tensors go in or out."""
    model = onnx.load(folder / "model.onnx")
    opset = max([each.version for each in model.opset_import if each.domain in ("", "ai.onnx")] or [0])
    if opset < 13 or not all(value.type.HasField("tensor_type") for value in [*model.graph.input, *model.graph.output]):
        return None
    inputs, outputs = ([onnx.load_tensor(folder / "test_data_set_0" / f"{kind}_{at}.pb") for at in range(len(values))]
                       for kind, values in (("input", model.graph.input), ("output", model.graph.output)))
    usual = all(tensor.data_type in NAMES and math.prod(tensor.dims) <= LARGEST for tensor in inputs + outputs)
    return (model, inputs, outputs, opset) if usual else None


def renamed(graph, names):
    """A copy under other names, bodies included."""
    copy = onnx.GraphProto()
    copy.CopyFrom(graph)
    items = [*copy.input, *copy.output, *copy.initializer, *copy.value_info]
    for item in items:
        item.name = names(item.name)
    for node in copy.node:
        node.input[:] = [names(name) for name in node.input]
        node.output[:] = [names(name) for name in node.output]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                attribute.g.CopyFrom(renamed(attribute.g, names))
    return copy


def kept(b, value):
    """The same numbers, by way of nodes."""
    for _ in range(b.pick((0, 1, 1, 2))):
        if value.rank == 0:
            return through_identity(b, value)
        step = b.pick(KEEPING)
        if step is through_cast:
            if value.type not in WIDENING:
                continue
            wide = cast(b, value, WIDENING[value.type])
            value = cast(b, wide, value.type)
        else:
            value = step(b, value)
    return value


def placed(b, tensor):
    """The tensor as an input or a constant, and what stands for it behind some nodes."""
    shape, name = tuple(tensor.dims), b.fresh()
    copy = onnx.TensorProto()
    copy.CopyFrom(tensor)
    copy.name = name
    if b.chance(0.35):
        b.initializers.append(copy)
    else:
        b.given(copy, NAMES[tensor.data_type])
    return kept(b, Value(name, NAMES[tensor.data_type], shape))


def inserted(b, case, given):
    """The nodes of a case, which read `given`; the values of its outputs."""
    model, _, outputs, _ = case
    suffix = b.fresh()
    results = [Value(f"{suffix}_{value.name}", NAMES[tensor.data_type], tuple(tensor.dims)) for value, tensor in zip(model.graph.output, outputs)]
    stands = {value.name: by.name for value, by in zip(model.graph.input, given)}
    graph = renamed(model.graph, lambda name: stands.get(name, f"{suffix}_{name}") if name else "")
    b.initializers += graph.initializer
    b.levels[0] += graph.node
    b.made += results
    b.functions += [function for function in model.functions if function.name not in {known.name for known in b.functions}]
    for each in model.opset_import:
        b.more_imports[each.domain] = each.version
    return results


def behind(b, value):
    """Some nodes behind a result."""
    for _ in range(b.pick((0, 1, 2, 3))):
        choice = b.rng.randrange(6)
        if choice == 0 and value.rank:
            value = transpose(b, value)
        elif choice == 1 and value.rank and value.count:
            value = random_slice(b, value)
        elif choice == 2 and value.type == "float":
            value = activation(b, value)
        elif choice == 3 and value.rank and value.count < LARGEST:
            value = concat(b, [value, kept(b, value)], b.rng.randrange(value.rank))
        elif choice == 4 and value.type in ("float", "double", "int32", "int64") and value.rank:
            value = b.pick((add, mul))(b, value, b.weight(value.type, b.pick((value.shape, value.shape[-1:], ()))))
        elif value.type in ("float", "double", "float16", "int32", "int64", "int8", "bool"):
            value = plain(b, value) if b.chance(0.8) else unary(b, "Identity", value)
    return value


def official(b: Builder):
    folders = cases()
    if not folders:
        raise Invalid
    case = case_of(b.pick(folders))
    if not case or any(name.startswith("v") and name[1:].isdigit() for name in names_read(case[0].graph.node)):
        raise Invalid
    b.opset, b.special = case[3], False  # docs/roadmap.md: hidden keys that are infinite
    given = [placed(b, tensor) for tensor in case[1]]
    if len({value.name for value in given}) != len(given):
        raise Invalid
    results = inserted(b, case, given)
    b.output(*[behind(b, value) for value in results])
    if b.chance(0.2):
        b.output(*[behind(b, value) for value in inserted(b, case, given)])
    return None
