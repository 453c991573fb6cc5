"""Types and shapes of a model's values: as a file records them, and as a run makes them."""
import os
import re

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator
from recorded import read_value


def described(type_proto):
    """[kind, element type, dims]: a dim is a number, a string, or None; dims is None when nothing is known about the shape."""
    kind = type_proto.WhichOneof("value")
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return [kind, 0, None]
    tensor = getattr(type_proto, kind)
    if not tensor.HasField("shape"):
        return [kind, tensor.elem_type, None]
    sizes = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim]
    return [kind, tensor.elem_type, sizes]


def recorded(model):
    """{name: described type} of the main graph."""
    graph = model.graph
    return {info.name: described(info.type) for info in [*graph.value_info, *graph.input, *graph.output] if info.HasField("type")}


def made_by_nodes(model):
    return [name for node in model.graph.node for name in node.output if name]


def without_shape(type_proto):
    """Drops the shape of a tensor type, also inside a sequence or an optional."""
    kind = type_proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        getattr(type_proto, kind).ClearField("shape")
    elif kind in ("sequence_type", "optional_type"):
        without_shape(getattr(type_proto, kind).elem_type)


def prepared(model):
    """A copy to infer from: nothing recorded except the inputs and the element types of the outputs, each open input dim with a name."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    for output in copy.graph.output:
        without_shape(output.type)
    for index, info in enumerate(copy.graph.input):
        if info.type.HasField("tensor_type"):
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                if dim.dim_param:
                    dim.dim_param = re.sub(r"\W", "_", "d_" + dim.dim_param)
                elif not dim.HasField("dim_value"):
                    dim.dim_param = f"i{index}_{axis}"
    return copy


def feeds_of(model, data_set):
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [info for info in model.graph.input if info.name not in weights]
    return {info.name: read_value(path, info.type) for i, info in enumerate(inputs) if (path := data_set / f"input_{i}.pb").is_file()}


def run_in_onnxruntime(model, feeds):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    shown = {output.name for output in copy.graph.output}
    names = list(dict.fromkeys(made_by_nodes(model)))
    copy.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names if name not in shown)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, feeds)))


def run_in_reference(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds, intermediate=True)


def recorded_outputs(model, data_set):
    outputs = {}
    for index, info in enumerate(model.graph.output):
        path = data_set / f"output_{index}.pb"
        if path.is_file():
            outputs[info.name] = read_value(path, info.type)
    return outputs


def measured(array):
    """[element type, shape] of a tensor that came out of a run, None for anything else."""
    if not isinstance(array, (np.ndarray, np.generic)):
        return None
    array = np.asarray(array)
    try:
        element = onnx.TensorProto.STRING if array.dtype.kind in "OUS" else int(helper.np_dtype_to_tensor_dtype(array.dtype))
    except (KeyError, ValueError):
        element = 0
    return [element, list(array.shape)]


def of_other_sizes(feeds, model):
    """The same inputs with every open dimension made larger, each by another amount, so that sizes cannot agree by chance."""
    grown = {}
    resized = {}
    for info in prepared(model).graph.input:
        sizes = described(info.type)[2]
        array = feeds.get(info.name)
        if sizes is None or not isinstance(array, np.ndarray):
            continue
        shape = list(array.shape)
        for axis, size in enumerate(sizes):
            if isinstance(size, str) and shape[axis] > 0:
                shape[axis] = grown.setdefault(size, shape[axis] + 1 + len(grown))
        resized[info.name] = np.resize(array, shape)
    return feeds | resized if grown else None


def run_anywhere(model, feeds):
    for by, run in (("onnxruntime", run_in_onnxruntime), ("reference", run_in_reference)):
        try:
            return by, run(model, feeds)
        except Exception:  # this runtime cannot run the model; the next one may
            continue
    return None, None


def actual(model, data_set):
    """What runs make: [{"inputs": {name: [type, shape]}, "values": {...}, "by": who ran it}], on the recorded inputs and on larger ones."""
    def read(values):
        return {name: found for name, value in values.items() if (found := measured(value)) is not None}

    feeds = feeds_of(model, data_set)
    recorded = recorded_outputs(model, data_set)
    expected = read(recorded)
    runs = []
    for inputs in (feeds, of_other_sizes(feeds, model)):
        by, made = run_anywhere(model, inputs) if inputs is not None else (None, None)
        # A runtime that contradicts the recorded outputs is no witness for the values before them either.
        if inputs is feeds and (made is None or any(measured(made[name]) != shape for name, shape in expected.items() if name in made)):
            by, made = "recorded outputs", recorded
        if made is not None:
            runs.append({"inputs": read(inputs), "values": read(made), "by": by})
    return runs
