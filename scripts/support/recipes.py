"""Models for operators without an official node case, and for control flow in any element type."""
import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

F = np.float32
MAP_STRING_FLOAT = helper.make_map_type_proto(onnx.TensorProto.STRING, helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None))
MAP_INT_FLOAT = helper.make_map_type_proto(onnx.TensorProto.INT64, helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None))

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], F)
IMAGE = np.arange(32, dtype=F).reshape(1, 2, 4, 4)
SEQUENCE = [np.ones((2, 2), F), np.zeros((2, 2), F)]
SVM = {"coefficients": [1.0, -1.0], "rho": [0.5], "support_vectors": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 3.0]}
# One split on feature 0 with two leaves.
TREE = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [2.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
}
LEAVES = {"treeids": [0, 0], "nodeids": [1, 2], "ids": [0, 1], "weights": [1.0, 1.0]}

# (domain, operator) -> [(attributes, inputs, number of outputs)]
PLAIN = {
    ("", "Bernoulli"): [({}, [X / 10], 1), ({"seed": 1.0}, [X / 10], 1)],
    ("", "ConcatFromSequence"): [({"axis": 0}, [SEQUENCE], 1)],
    ("", "GlobalLpPool"): [({}, [IMAGE], 1)],
    ("", "MaxRoiPool"): [({"pooled_shape": [2, 2]}, [IMAGE, np.array([[0, 0, 0, 3, 3]], F)], 1)],
    ("", "Multinomial"): [({"sample_size": 4, "dtype": 6}, [np.log(X / 6)], 1)],
    ("", "Optional"): [({}, [X], 1)],
    ("", "RandomNormal"): [({"shape": [2, 3], "dtype": 1}, [], 1)],
    ("", "RandomNormalLike"): [({}, [X], 1), ({"dtype": 1}, [X], 1)],
    ("", "RandomUniform"): [({"shape": [2, 3], "dtype": 1}, [], 1)],
    ("", "RandomUniformLike"): [({}, [X], 1), ({"dtype": 1}, [X], 1)],
    ("", "SequenceAt"): [({}, [SEQUENCE, np.array(0, np.int64)], 1)],
    ("", "SequenceConstruct"): [({}, [X, X], 1)],
    ("", "SequenceEmpty"): [({"dtype": 1}, [], 1)],
    ("", "Tile"): [({}, [np.array(2.0, F), np.zeros(0, np.int64)], 1), ({}, [X, np.array([2, 1], np.int64)], 1)],
    ("", "SequenceErase"): [({}, [SEQUENCE, np.array(0, np.int64)], 1)],
    ("", "SequenceLength"): [({}, [SEQUENCE], 1)],
    ("ai.onnx.ml", "CastMap"): [({"cast_to": "TO_FLOAT"}, [(MAP_INT_FLOAT, {1: 2.0})], 1)],
    ("ai.onnx.ml", "CategoryMapper"): [
        ({"cats_int64s": [1, 2], "cats_strings": ["a", "b"]}, [np.array(["a", "b"], object)], 1),
        ({"cats_int64s": [1, 2], "cats_strings": ["a", "b"]}, [np.array([1, 2], np.int64)], 1),
    ],
    ("ai.onnx.ml", "DictVectorizer"): [({"string_vocabulary": ["a", "b"]}, [(MAP_STRING_FLOAT, {"a": 2.0})], 1)],
    ("ai.onnx.ml", "FeatureVectorizer"): [({"inputdimensions": [3, 3]}, [X, X], 1)],
    ("ai.onnx.ml", "Imputer"): [
        ({"imputed_value_floats": [1.0], "replaced_value_float": 2.0}, [X], 1),
        ({"imputed_value_int64s": [1], "replaced_value_int64": 2}, [X.astype(np.int64)], 1),
    ],
    ("ai.onnx.ml", "LinearClassifier"): [({"coefficients": [1.0] * 6, "intercepts": [0.0, 1.0], "classlabels_ints": [0, 1]}, [X], 2)],
    ("ai.onnx.ml", "LinearRegressor"): [({"coefficients": [1.0, 2.0, 3.0], "intercepts": [1.0]}, [X], 1)],
    ("ai.onnx.ml", "Normalizer"): [({"norm": "L2"}, [X], 1)],
    ("ai.onnx.ml", "OneHotEncoder"): [
        ({"cats_int64s": [1, 2, 3]}, [X], 1),
        ({"cats_strings": ["a", "b"]}, [np.array(["a", "b"], object)], 1),
    ],
    ("ai.onnx.ml", "SVMClassifier"): [({**SVM, "vectors_per_class": [1, 1], "classlabels_ints": [0, 1]}, [X], 2)],
    ("ai.onnx.ml", "SVMRegressor"): [({**SVM, "n_supports": 2}, [X], 1)],
    ("ai.onnx.ml", "Scaler"): [({"offset": [0.0], "scale": [2.0]}, [X], 1)],
    ("ai.onnx.ml", "TreeEnsembleClassifier"): [
        ({**TREE, **{f"class_{k}": v for k, v in LEAVES.items()}, "classlabels_int64s": [0, 1]}, [X], 2)
    ],
    ("ai.onnx.ml", "TreeEnsembleRegressor"): [
        ({**TREE, **{f"target_{k}": [0, 0] if k == "ids" else v for k, v in LEAVES.items()}, "n_targets": 1}, [X], 1)
    ],
    ("ai.onnx.ml", "ZipMap"): [({"classlabels_int64s": [0, 1, 2]}, [X], 1), ({"classlabels_strings": ["a", "b", "c"]}, [X], 1)],
}

# The same for versions that no newer case can be turned into.
OLD = {
    ("", "Cast", 1): [({"to": "FLOAT"}, [X], 1)],
    ("", "LpPool", 1): [({"kernel_shape": [2, 2]}, [IMAGE], 1)],
    ("", "Pad", 1): [({"paddings": [0, 0, 1, 1, 0, 0, 1, 1]}, [IMAGE], 1)],
    ("", "Resize", 11): [
        ({"mode": mode, "coordinate_transformation_mode": coordinates}, [IMAGE, np.array([0, 0, 0, 0, 1, 1, 1, 1], F), np.array([1, 1, 2, 2], F)], 1)
        for mode in ("nearest", "linear", "cubic")
        for coordinates in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize")
    ],
    ("", "Tile", 1): [({}, [X, np.array(2, F), np.array(0, F)], 1)],
    ("", "Upsample", 1): [({"height_scale": 2.0, "width_scale": 2.0}, [IMAGE], 1)],
    ("ai.onnx.ml", "LabelEncoder", 1): [
        ({"classes_strings": ["a", "b"]}, [np.array(["a", "b"], object)], 1),
        ({"classes_strings": ["a", "b"]}, [np.array([0, 1], np.int64)], 1),
    ],
}

# Control flow that passes a value on. {T} is the element type.
CONTROL_FLOW = {
    ("", "If"): "main (bool c, {T}[2] x) => ({T}[2] y) {{ y = If (c) <then_branch = t () => ({T}[2] a) {{ a = Identity (x) }},"
    " else_branch = e () => ({T}[2] b) {{ b = Identity (x) }}> }}",
    ("", "Loop"): "main (int64 n, bool c, {T}[2] x) => ({T}[2] y, {T}[k, 2] z) {{ y, z = Loop (n, c, x) <body = b (int64 i, bool d, {T}[2] v) =>"
    " (bool e, {T}[2] w, {T}[2] s) {{ e = Identity (d) w = Identity (v) s = Identity (v) }}> }}",
    ("", "Scan"): "main ({T}[2] s, {T}[3, 2] x) => ({T}[2] t, {T}[3, 2] y) {{ t, y = Scan <num_scan_inputs = 1, body = b ({T}[2] p, {T}[2] q) =>"
    " ({T}[2] r, {T}[2] u) {{ r = Identity (p) u = Identity (q) }}> (s, x) }}",
}
PASSED_TYPES = ["float", "double", "float16", "bfloat16", "int32", "int64", "int8", "uint8", "bool", "string"]


def plain_case(domain, op, attributes, inputs, output_count):
    from .cases import Case, as_proto

    values = {}
    for index, given in enumerate(inputs):
        name = f"x{index}"
        if isinstance(given, tuple):
            type_proto, given = given
        elif isinstance(given, list):
            type_proto = helper.make_sequence_type_proto(helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None))
        else:
            dtype = onnx.TensorProto.STRING if given.dtype == object else helper.np_dtype_to_tensor_dtype(given.dtype)
            type_proto = helper.make_tensor_type_proto(dtype, given.shape)
        values[name] = (type_proto, as_proto(given, type_proto, name))
    node = helper.make_node(op, list(values), [f"y{i}" for i in range(output_count)], domain=domain, **attributes)
    # Where neither the onnx package nor the runtime infers the output of an old version, it is float.
    return Case(node, values, [("y0", helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None))] if op == "Cast" else [])


def control_flow_case(text, element):
    from .cases import Case, as_proto, cast_array

    graph = parser.parse_graph(text.format(T=element))
    values = {}
    for info in graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        dtype = info.type.tensor_type.elem_type
        proto = numpy_helper.from_array(np.array(True), info.name) if info.name == "c" else None
        if proto is None and info.name == "n":
            proto = numpy_helper.from_array(np.array(3, np.int64), info.name)
        values[info.name] = (info.type, proto or as_proto(cast_array(np.ones(shape, F), dtype), info.type, info.name))
    return Case(graph.node[0], values, [(info.name, info.type) for info in graph.output])


def all_cases():
    """(domain, operator, version or None for the newest, Case) of everything above."""
    for key, rows in {**PLAIN, **OLD}.items():
        for attributes, inputs, outputs in rows:
            yield *key[:2], key[2] if len(key) > 2 else None, plain_case(*key[:2], attributes, inputs, outputs)
    for (domain, op), text in CONTROL_FLOW.items():
        for element in PASSED_TYPES:
            yield domain, op, None, control_flow_case(text, element)
