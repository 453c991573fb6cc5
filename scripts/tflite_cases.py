#!/usr/bin/env python3
"""Writes testdata/tflite: small TFLite files, a case for each operator and attribute value, with inputs and what LiteRT gives, on its
reference kernels where it is quantized.

    build/venv/bin/python scripts/tflite_cases.py [NAME...]

Needs TensorFlow and ai-edge-litert. Seeded: the same versions write the same files.
"""
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from ai_edge_litert.interpreter import Interpreter, OpResolverType  # noqa: E402

from case_values import B, F, I, rng, values_of  # noqa: E402

FOLDER = Path(__file__).resolve().parent.parent / "testdata/tflite"
CASES = {}


def case(name, function, *inputs, **how):
    """Inputs are (shape, type) or (shape, type, lowest, highest); None in a shape is an open size, of which the case has 2."""
    CASES[name] = function, inputs, how


def weight(*shape):
    return tf.constant(rng().normal(0, 0.5, shape), tf.float32)


IMAGE = ([1, 7, 6, 3], F)
OPEN_IMAGE = ([None, 7, 6, 3], F)
VECTOR = ([2, 5], F)
POSITIVE = ([2, 5], F, 0.1, 3)
INTEGERS = ([2, 5], I, -9, 10)

for name, op in {"abs": tf.abs, "neg": tf.negative, "exp": tf.exp, "sin": tf.sin, "cos": tf.cos, "floor": tf.floor, "ceil": tf.math.ceil,
                 "round": tf.round, "sign": tf.sign, "square": tf.square, "relu": tf.nn.relu, "relu6": tf.nn.relu6, "logistic": tf.sigmoid,
                 "tanh": tf.tanh, "elu": tf.nn.elu, "softmax": tf.nn.softmax, "log_softmax": tf.nn.log_softmax, "leaky_relu": tf.nn.leaky_relu,
                 "zeros_like": tf.zeros_like, "shape": lambda x: tf.shape(x) + 1}.items():
    case(name, op, ([None, 5], F))
for name, op in {"log": tf.math.log, "sqrt": tf.sqrt, "rsqrt": tf.math.rsqrt}.items():
    case(name, op, POSITIVE)
case("gelu", lambda x: tf.nn.gelu(x, approximate=False), VECTOR)
case("gelu_tanh", lambda x: tf.nn.gelu(x, approximate=True), VECTOR)
case("hard_swish", lambda x: x * tf.nn.relu6(x + 3) / 6, VECTOR)
case("prelu", lambda x: tf.nn.relu(x) - weight(3) * tf.nn.relu(-x), IMAGE)
case("l2_normalization", lambda x: tf.math.l2_normalize(x, -1), VECTOR)
case("local_response_normalization", lambda x: tf.nn.local_response_normalization(x, 2, 1.5, 0.3, 0.6), IMAGE)
for name, op in {"add": tf.add, "sub": tf.subtract, "mul": tf.multiply, "maximum": tf.maximum, "minimum": tf.minimum, "less": tf.less,
                 "less_equal": tf.less_equal, "greater": tf.greater, "greater_equal": tf.greater_equal, "equal": tf.equal,
                 "not_equal": tf.not_equal, "squared_difference": tf.math.squared_difference, "floor_mod": tf.math.floormod}.items():
    case(name, op, ([2, 3, 5], F), ([5], F))
case("div", tf.divide, VECTOR, POSITIVE)
SIGNALS = ([2, 3, 16], F)
case("rfft2d_of_signals", lambda x: tf.abs(tf.signal.rfft(x)), SIGNALS)
case("rfft2d", lambda x: [tf.abs(tf.signal.rfft2d(x)), tf.math.real(tf.signal.rfft2d(x, [2, 8])), tf.math.imag(tf.signal.rfft2d(x, [4, 32]))], ([2, 4, 16], F))
case("complex_moved", lambda x: [tf.abs(tf.reshape(y, [6, 9])) + tf.math.real(tf.squeeze(tf.expand_dims(tf.reshape(y, [6, 1, 9]), 0), [0, 2])) for y in [tf.signal.rfft(x)]], SIGNALS)
case("complex_cast", lambda x: [tf.cast(tf.signal.rfft(x), tf.float32), tf.abs(tf.cast(x, tf.complex64))], SIGNALS)
case("stft", lambda x: tf.abs(tf.signal.stft(x, 16, 4)), ([2, 40], F))
case("pow", tf.pow, POSITIVE, VECTOR)
case("floor_div", tf.math.floordiv, VECTOR, POSITIVE)
case("floor_div_integers", tf.math.floordiv, INTEGERS, ([2, 5], I, 1, 4))
case("floor_mod_integers", tf.math.floormod, INTEGERS, ([2, 5], I, 1, 4))
case("add_n", lambda a, b, c: tf.add_n([a, b, c]), VECTOR, VECTOR, VECTOR)
case("add_relu", lambda a, b: tf.nn.relu(a + b), VECTOR, VECTOR)
case("add_relu6", lambda a, b: tf.nn.relu6(4 * a + b), VECTOR, VECTOR)
case("mul_relu_n1_to_1", lambda a, b: tf.maximum(-1.0, tf.minimum(a * b, 1.0)), VECTOR, VECTOR)
case("logical", lambda a, b: tf.logical_or(tf.logical_and(a, b), tf.logical_not(a)), ([2, 5], B), ([2, 5], B))
case("select_v2", lambda c, x, y: tf.where(c, x, y), ([2, 1], B), ([2, 5], F), ([5], F))

for act, function in {"": tf.identity, "_relu": tf.nn.relu, "_relu6": tf.nn.relu6}.items():
    case("conv_2d" + act, lambda x, f=function: f(tf.nn.conv2d(x, weight(3, 2, 3, 4), 1, "SAME") + weight(4)), IMAGE)
case("conv_2d_valid", lambda x: tf.nn.conv2d(x, weight(3, 2, 3, 4), [2, 1], "VALID"), OPEN_IMAGE)
case("conv_2d_same_strides", lambda x: tf.nn.conv2d(x, weight(3, 3, 3, 4), 2, "SAME"), OPEN_IMAGE)
case("conv_2d_dilated", lambda x: tf.nn.conv2d(x, weight(3, 3, 3, 4), 1, "SAME", dilations=2), IMAGE)
case("conv_2d_groups", lambda x: tf.nn.conv2d(x, weight(3, 3, 2, 8), 1, "SAME"), ([1, 6, 5, 4], F))
case("conv_2d_open_sizes", lambda x: tf.nn.conv2d(x, weight(3, 3, 3, 4), 2, "SAME"), ([1, None, None, 3], F))
case("depthwise_conv_2d", lambda x: tf.nn.depthwise_conv2d(x, weight(3, 3, 3, 2), [1, 2, 2, 1], "SAME") + weight(6), IMAGE)
case("depthwise_conv_2d_dilated", lambda x: tf.nn.depthwise_conv2d(x, weight(3, 3, 3, 1), [1, 1, 1, 1], "SAME", dilations=[2, 2]), IMAGE)
case("conv_3d", lambda x: tf.nn.conv3d(x, weight(2, 3, 2, 3, 4), [1, 1, 2, 1, 1], "SAME") + weight(4), ([1, 4, 5, 6, 3], F))
case("transpose_conv", lambda x: tf.nn.conv2d_transpose(x, weight(3, 3, 4, 3), [1, 14, 12, 4], 2, "SAME"), IMAGE)
case("transpose_conv_valid", lambda x: tf.nn.conv2d_transpose(x, weight(3, 2, 4, 3), [1, 15, 12, 4], 2, "VALID"), IMAGE)
for pool, function in {"average": tf.nn.avg_pool2d, "max": tf.nn.max_pool2d}.items():
    for padding in ("SAME", "VALID"):
        case(f"{pool}_pool_2d_{padding.lower()}", lambda x, f=function, p=padding: f(x, [3, 2], 2, p), OPEN_IMAGE)
case("fully_connected", lambda x: tf.matmul(x, weight(5, 4)) + weight(4), ([None, 5], F))
case("fully_connected_of_image", lambda x: tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 126]), weight(126, 4)) + weight(4)), OPEN_IMAGE)
case("fully_connected_of_pixels", lambda x: tf.tensordot(x, weight(3, 4), 1), IMAGE)
case("batch_matmul", lambda x, y: tf.matmul(x, y), ([2, 3, 5], F), ([2, 5, 4], F))
case("batch_matmul_adjoint", lambda x, y: tf.matmul(x, y, adjoint_a=True, adjoint_b=True), ([2, 5, 3], F), ([2, 4, 5], F))
for name, op in {"mean": tf.reduce_mean, "sum": tf.reduce_sum, "reduce_prod": tf.reduce_prod, "reduce_max": tf.reduce_max, "reduce_min": tf.reduce_min}.items():
    case(name, lambda x, f=op: f(x, [1, 2]), OPEN_IMAGE)
    case(name + "_keep_dims", lambda x, f=op: f(x, [-1], keepdims=True), OPEN_IMAGE)
case("reduce_any", lambda x: tf.reduce_any(x, 1), ([3, 4], B))
case("reduce_all", lambda x: tf.reduce_all(x, 0, keepdims=True), ([3, 4], B))
case("arg_max", lambda x: tf.argmax(x, -1, output_type=tf.int32), IMAGE)
case("arg_min", lambda x: tf.argmin(x, 1), IMAGE)
case("cumsum", lambda x: tf.cumsum(x, 1), VECTOR)
case("cumsum_exclusive_reverse", lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True), VECTOR)
case("topk_v2", lambda x: tf.math.top_k(x, 3), VECTOR)
case("reshape", lambda x: tf.reshape(x, [-1, 6, 21]), OPEN_IMAGE)
case("reshape_computed", lambda x: tf.reshape(x, tf.stack([tf.shape(x)[0] * 7, 18])), OPEN_IMAGE)
case("expand_dims", lambda x: tf.expand_dims(x, -2), VECTOR)
case("squeeze", lambda x: tf.squeeze(x, [1, 3]), ([2, 1, 5, 1], F))
case("transpose", lambda x: tf.transpose(x, [2, 0, 3, 1]), IMAGE)
case("fill", lambda x: tf.fill(tf.shape(x), 2.5) + x, ([None, 5], F))
case("range", lambda n: tf.range(1, n, 2), ([], I, 9, 10))
case("broadcast_to", lambda x: tf.broadcast_to(x, [4, 2, 5]), VECTOR)
case("tile", lambda x: tf.tile(x, [2, 3]), VECTOR)
case("one_hot", lambda i: tf.one_hot(i, 6, 2.0, -1.0, axis=1), ([2, 3], I, 0, 6))
case("cast", lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32), VECTOR)
case("cast_bool", lambda x: tf.cast(x > 0, tf.float32), VECTOR)
case("rank", lambda x: tf.rank(x) + tf.shape(x)[0], ([None, 5], F))
case("strided_slice", lambda x: x[:, 1:6:2, -3:, ::-1], IMAGE)
case("strided_slice_shrink", lambda x: x[:, 2, ..., -1], IMAGE)
case("strided_slice_new_axis", lambda x: x[:, tf.newaxis, 1:], VECTOR)
case("strided_slice_computed", lambda x, n: x[n:, :n], ([4, 5], F), ([], I, 2, 3))
case("slice", lambda x: tf.slice(x, [0, 1, 2, 0], [1, -1, 3, 2]), IMAGE)
case("slice_computed", lambda x, b: tf.slice(x, b, [2, -1]), ([4, 5], F), ([2], I, 1, 2))
case("split", lambda x: tf.split(x, 3, 2), IMAGE)
case("split_v", lambda x: tf.split(x, [1, 4, 2], 1), IMAGE)
case("concatenation", lambda x, y: tf.concat([x, y, x], -1), IMAGE, ([1, 7, 6, 2], F))
case("pack", lambda x, y: tf.stack([x, y], 1), VECTOR, VECTOR)
case("unpack", lambda x: tf.unstack(x, axis=1), VECTOR)
case("gather", lambda x, i: tf.gather(x, i, axis=1), IMAGE, ([2, 2], I, 0, 6))
case("gather_batch_dims", lambda x, i: tf.gather(x, i, axis=1, batch_dims=1), VECTOR, ([2, 3], I, 0, 5))
case("gather_nd", lambda x, i: tf.gather_nd(x, i), IMAGE, ([2, 2], I, 0, 1))
case("scatter_nd", lambda i, u: tf.scatter_nd(i, u, [4, 5]), ([3, 1], I, 0, 4), ([3, 5], F))
case("pad", lambda x: tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 0]]), OPEN_IMAGE)
case("padv2", lambda x: tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 1]], constant_values=1.5), IMAGE)
case("mirror_pad_reflect", lambda x: tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 0]], "REFLECT"), IMAGE)
case("mirror_pad_symmetric", lambda x: tf.pad(x, [[0, 0], [1, 2], [3, 0], [0, 0]], "SYMMETRIC"), IMAGE)
case("reverse_v2", lambda x: tf.reverse(x, [1]), IMAGE)
case("depth_to_space", lambda x: tf.nn.depth_to_space(x, 2), ([1, 3, 2, 12], F))
case("space_to_depth", lambda x: tf.nn.space_to_depth(x, 2), ([1, 6, 4, 3], F))
case("space_to_batch_nd", lambda x: tf.space_to_batch(x, [2, 3], [[1, 0], [0, 0]]), ([2, 7, 6, 3], F))
case("batch_to_space_nd", lambda x: tf.batch_to_space(x, [2, 3], [[1, 0], [0, 2]]), ([12, 4, 2, 3], F))
for mode in ("bilinear", "nearest"):
    for how in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
        op = tf.raw_ops.ResizeBilinear if mode == "bilinear" else tf.raw_ops.ResizeNearestNeighbor
        case("_".join(["resize", mode, *how]), lambda x, o=op, h=how: o(images=x, size=[11, 4], **h), IMAGE)


def branches(c, x):
    return tf.cond(c, lambda: tf.nn.relu(x) + 1, lambda: x * weight(5))


def loop(x):
    return tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.tanh(y) * weight(5)), [0, x])[1]


case("if", branches, ([], B), VECTOR)
case("while", loop, VECTOR)


def small_network(x):
    x = tf.nn.relu6(tf.nn.conv2d(x, weight(3, 3, 3, 8), 2, "SAME") + weight(8))
    y = tf.nn.depthwise_conv2d(x, weight(3, 3, 8, 1), [1, 1, 1, 1], "SAME") + weight(8)
    scale = tf.sigmoid(tf.nn.conv2d(tf.reduce_mean(y, [1, 2], keepdims=True), weight(1, 1, 8, 8), 1, "SAME"))
    x = tf.concat([x + y * scale, tf.nn.max_pool2d(x, 3, 1, "SAME")], -1)
    return tf.matmul(tf.reduce_mean(x, [1, 2]), weight(16, 4)) + weight(4)


case("network", small_network, ([None, 8, 8, 3], F))
case("network_float16", small_network, ([1, 8, 8, 3], F), float16=True)
case("network_int8", small_network, ([1, 8, 8, 3], F), int8=True)
case("network_int8_inside", small_network, ([1, 8, 8, 3], F), int8_inside=True)
case("network_int16", small_network, ([1, 8, 8, 3], F), int16=True)
case("network_dynamic", small_network, ([1, 8, 8, 3], F), dynamic=True)


def lstm(time_major, peepholes):
    """A file that the converter no longer makes: the operator that older versions of Keras became."""
    from tensorflow.lite.python import schema_py_generated as schema
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.subgraphs, model.buffers, graph.tensors = 3, [graph], [schema.BufferT()], []
    random = rng()

    def tensor(name, shape, content=None, variable=False):
        made = schema.TensorT()
        made.name, made.shape, made.isVariable, made.buffer = name, list(shape), variable, 0
        if content is not None:
            made.buffer = len(model.buffers)
            stored = schema.BufferT()
            stored.data = np.frombuffer(np.asarray(content, F).tobytes(), np.uint8)
            model.buffers.append(stored)
        graph.tensors.append(made)
        return len(graph.tensors) - 1

    def stored(name, *shape):
        return tensor(name, shape, random.normal(0, 0.5, shape))

    batch, time, width, units = 2, 4, 3, 5
    outer = [time, batch] if time_major else [batch, time]
    inputs = [tensor("x", [*outer, width])]
    inputs += [stored("w" + gate, units, width) for gate in "ifco"] + [stored("r" + gate, units, units) for gate in "ifco"]
    inputs += [stored("p" + gate, units) if peepholes else -1 for gate in "ifo"] + [stored("b" + gate, units) for gate in "ifco"]
    inputs += [-1, -1, tensor("hidden", [batch, units], variable=True), tensor("cell", [batch, units], variable=True)] + [-1] * 4
    node, code, options = schema.OperatorT(), schema.OperatorCodeT(), schema.UnidirectionalSequenceLSTMOptionsT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM
    code.version = 1
    options.fusedActivationFunction, options.timeMajor = schema.ActivationFunctionType.TANH, time_major
    node.builtinOptionsType, node.builtinOptions = schema.BuiltinOptions.UnidirectionalSequenceLSTMOptions, options
    node.inputs, node.outputs = inputs, [tensor("y", [*outer, units])]
    graph.inputs, graph.outputs, graph.operators, model.operatorCodes = [0], node.outputs, [node], [code]
    return packed(model)


def refused():
    """A file with operators that have no counterpart: of TensorFlow, a custom one, and a list of strings."""
    from tensorflow.lite.python import schema_py_generated as schema
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.subgraphs, model.buffers = 3, [graph], [schema.BufferT()]
    graph.tensors, graph.operators, model.operatorCodes = [], [], []
    for i in range(6):
        made = schema.TensorT()
        made.name, made.shape, made.buffer = f"t{i}", [2, 3], 0
        graph.tensors.append(made)
    custom = schema.BuiltinOperator.CUSTOM
    for number, name in [(custom, "FlexErf"), (custom, "MyOperator"), (schema.BuiltinOperator.LSH_PROJECTION, None)]:
        code = schema.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode, code.customCode, code.version = number, min(number, 127), name, 1
        model.operatorCodes.append(code)
    for i, which in enumerate([0, 1, 0, 2, 0]):
        node = schema.OperatorT()
        node.opcodeIndex, node.inputs, node.outputs = which, [i], [i + 1]
        graph.operators.append(node)
    graph.inputs, graph.outputs = [0], [5]
    return packed(model)


def damaged():
    """Files whose tables are sound: a loop that runs the graph that it is in, contents behind the end, a weight of too few bytes, sparse ones with a
    place behind their axis, two segments that overlap, and an axis that makes them far larger than the file."""
    from tensorflow.lite.python import schema_py_generated as schema
    files = {}
    for name in ("sparse_place", "sparse_segments", "sparse_size"):
        model = schema.ModelT.InitFromPackedBuf(bytearray(sparse(sparse_numbers(5, 7), [0, 1], [], [])), 0)
        tensor = model.subgraphs[0].tensors[1]
        rows, columns = tensor.sparsity.dimMetadata
        if name == "sparse_place":
            columns.arrayIndices.values[-1] = 7
        elif name == "sparse_segments":
            columns.arraySegments.values[1] = 60
        else:
            tensor.shape[0] = rows.denseSize = 1 << 30
        files[name] = packed(model)
    for name in ("calls_itself", "buffer_behind_end", "buffer_wraps", "short_weight"):
        model, graph, made, node, code = schema.ModelT(), schema.SubGraphT(), schema.TensorT(), schema.OperatorT(), schema.OperatorCodeT()
        stored = schema.BufferT()
        model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph, graph], [schema.BufferT(), stored], [code]
        made.name, made.shape, made.buffer = "t", [2, 3], 0 if name == "calls_itself" else 1
        code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.WHILE
        options = schema.WhileOptionsT()
        options.condSubgraphIndex = options.bodySubgraphIndex = 1
        node.builtinOptionsType, node.builtinOptions = schema.BuiltinOptions.WhileOptions, options
        node.inputs = node.outputs = graph.inputs = graph.outputs = [0]
        graph.tensors, graph.operators = [made], [node]
        if name == "buffer_behind_end":
            stored.offset, stored.size = 64, 1 << 40
        elif name == "buffer_wraps":
            stored.offset, stored.size = (1 << 64) - 8, 24
        elif name == "short_weight":
            stored.data = np.zeros(20, np.uint8)
        files[name] = packed(model)
    return files


def sparse(dense, order, block_map, block_sizes):
    """A file that adds x to DENSIFY of a constant, of which every axis but the first and those of blocks keeps only places with an element."""
    from tensorflow.lite.python import schema_py_generated as schema
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph], [schema.BufferT(), schema.BufferT()], []
    sizes = list(dense.shape)
    blocked = dense
    for axis, size in sorted(zip(block_map, block_sizes), reverse=True):  # an axis as blocks and places in them
        blocked = blocked.reshape(*blocked.shape[:axis], blocked.shape[axis] // size, size, *blocked.shape[axis + 1:])
    outer, inner = [], {}
    for axis in range(len(sizes)):
        outer.append(len(outer) + len(inner))
        if axis in block_map:
            inner[axis] = len(outer) + len(inner)
    tree = blocked.transpose([(outer + [inner[axis] for axis in block_map])[i] for i in order])
    parameters = schema.SparsityParametersT()
    parameters.traversalOrder, parameters.blockMap, parameters.dimMetadata = order, block_map, []
    places = [()]
    for level, axis in enumerate(order):
        made = schema.DimensionMetadataT()
        parameters.dimMetadata.append(made)
        if level == 0 or axis >= len(sizes):
            made.format, made.denseSize = schema.DimensionType.DENSE, tree.shape[level]
            places = [place + (i,) for place in places for i in range(tree.shape[level])]
            continue
        made.format = schema.DimensionType.SPARSE_CSR
        kept = [[i for i in range(tree.shape[level]) if tree[place + (i,)].any()] for place in places]
        made.arraySegmentsType = made.arrayIndicesType = [schema.SparseIndexVector.Uint8Vector, schema.SparseIndexVector.Uint16Vector,
                                                          schema.SparseIndexVector.Int32Vector][level % 3]
        vector = [schema.Uint8VectorT, schema.Uint16VectorT, schema.Int32VectorT][level % 3]
        made.arraySegments, made.arrayIndices = vector(), vector()
        made.arraySegments.values = [0, *np.cumsum([len(row) for row in kept]).tolist()]
        made.arrayIndices.values = [i for row in kept for i in row]
        places = [place + (i,) for place, row in zip(places, kept) for i in row]
    model.buffers[1].data = np.frombuffer(np.asarray([tree[place] for place in places], F).tobytes(), np.uint8)
    graph.tensors = []
    for i, tensor in enumerate(["x", "sparse", "dense", "y"]):
        made = schema.TensorT()
        made.name, made.shape, made.buffer = tensor, sizes, 1 if tensor == "sparse" else 0
        made.sparsity = parameters if tensor == "sparse" else None
        graph.tensors.append(made)
    graph.operators = []
    for i, (op, inputs) in enumerate([("DENSIFY", [1]), ("ADD", [0, 2])]):
        node, code = schema.OperatorT(), schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, op)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
        node.opcodeIndex, node.inputs, node.outputs = i, inputs, [i + 2]
        model.operatorCodes.append(code)
        graph.operators.append(node)
    graph.operators[1].builtinOptionsType, graph.operators[1].builtinOptions = schema.BuiltinOptions.AddOptions, schema.AddOptionsT()
    graph.inputs, graph.outputs = [0], [3]
    return packed(model)


def sparse_numbers(*shape, block=1):
    """A third of the blocks of the last axis are not zero."""
    random = rng()
    kept = random.random((*shape[:-1], shape[-1] // block)) < 0.35
    return (random.normal(0, 1, shape) * np.repeat(kept, block, -1)).astype(F)


def packed(model):
    import flatbuffers
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def one(op, inputs, output, options=None, **fields):
    """A file with one operator, which the converter writes in another way or not at all. Inputs and the output are (shape, type), with (scale, zero point)
    or stored numbers or both behind it."""
    from tensorflow.lite.python import schema_py_generated as schema
    model, graph, node, code = schema.ModelT(), schema.SubGraphT(), schema.OperatorT(), schema.OperatorCodeT()
    model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph], [schema.BufferT()], [code]
    graph.tensors, graph.inputs, node.inputs = [], [], []
    types = {np.dtype(F): 0, np.dtype(I): 2, np.dtype(B): 6, np.dtype(np.int8): 9}
    for i, (shape, dtype, *further) in enumerate([*inputs, output]):
        made = schema.TensorT()
        made.name, made.shape, made.type, made.buffer = f"x{i}" if i < len(inputs) else "y", list(shape), types[np.dtype(dtype)], 0
        if further and isinstance(further[0], tuple):
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale, made.quantization.zeroPoint = [further[0][0]], [further[0][1]]
            further = further[1:]
        if further:
            stored = schema.BufferT()
            stored.data = np.frombuffer(np.asarray(further[0], dtype).tobytes(), np.uint8)
            made.buffer = len(model.buffers)
            model.buffers.append(stored)
        elif i < len(inputs):
            graph.inputs.append(i)
        graph.tensors.append(made)
    code.builtinCode = getattr(schema.BuiltinOperator, op)
    code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
    if options:
        node.builtinOptions = getattr(schema, options + "T")()
        node.builtinOptionsType = getattr(schema.BuiltinOptions, options)
        for field, value in fields.items():
            setattr(node.builtinOptions, field, value)
    node.inputs, node.outputs = list(range(len(inputs))), [len(inputs)]
    graph.outputs, graph.operators = node.outputs, [node]
    return packed(model)


def one_case(name, op, inputs, output, options=None, **fields):
    given = [(spec[0], F, -6, 6) if spec[1] == np.int8 else (spec[0], I, 3, 4) if spec[1] == I else spec[:2]
             for spec in inputs if len(spec) == 2 or isinstance(spec[2], tuple)]
    case(name, lambda: one(op, inputs, output, options, **fields), *given, made=True)


SQUARE = ([1, 6, 6, 2], F)
one_case("expand_dims_operator", "EXPAND_DIMS", [VECTOR, ([1], I, [1])], ([2, 1, 5], F), "ExpandDimsOptions")
one_case("squeeze_operator", "SQUEEZE", [([2, 1, 5], F)], VECTOR, "SqueezeOptions", squeezeDims=[1])
one_case("fake_quant_operator", "FAKE_QUANT", [VECTOR], VECTOR, "FakeQuantOptions", min=-1.0, max=1.5, numBits=8)
one_case("l2_pool_2d", "L2_POOL_2D", [SQUARE], ([1, 3, 3, 2], F), "Pool2DOptions", strideW=2, strideH=2, filterWidth=2, filterHeight=2, padding=1)
one_case("prelu_operator", "PRELU", [SQUARE, ([1, 1, 2], F, [0.25, -0.5])], SQUARE)
one_case("relu_0_to_1", "RELU_0_TO_1", [VECTOR], VECTOR)
one_case("relu_n1_to_1", "RELU_N1_TO_1", [VECTOR], VECTOR)
one_case("select_operator", "SELECT", [([2, 5], B), VECTOR, VECTOR], VECTOR, "SelectOptions")
one_case("rank_operator", "RANK", [VECTOR], ([], I), "RankOptions")
one_case("broadcast_args", "BROADCAST_ARGS", [([2], I, [2, 1]), ([1], I)], ([2], I))
BYTES = ([1, 6, 6, 2], np.int8, (0.05, -3))
one_case("hard_swish_int8", "HARD_SWISH", [([1, 16, 16, 1], np.int8, (0.0462, 8))], ([1, 16, 16, 1], np.int8, (0.0231, -111)))
one_case("squared_difference_int8", "SQUARED_DIFFERENCE", [BYTES, ([1, 6, 6, 2], np.int8, (0.031, 5))], ([1, 6, 6, 2], np.int8, (0.08, -128)),
         "SquaredDifferenceOptions")
one_case("batch_matmul_int8", "BATCH_MATMUL", [([2, 9, 7], np.int8, (0.05, -3)), ([2, 7, 11], np.int8, (0.03, 4))], ([2, 9, 11], np.int8, (0.11, 2)),
         "BatchMatMulOptions")
one_case("average_pool_2d_int8", "AVERAGE_POOL_2D", [BYTES], ([1, 3, 3, 2], np.int8, (0.05, -3)), "Pool2DOptions", strideW=2, strideH=2, filterWidth=2,
         filterHeight=2, padding=1)
one_case("resize_bilinear_int8", "RESIZE_BILINEAR", [BYTES, ([2], I, [12, 12])], ([1, 12, 12, 2], np.int8, (0.05, -3)), "ResizeBilinearOptions",
         halfPixelCenters=True)
def pairs_case(name, op, scales, pairs, options, **fields):
    """An operator on two inputs of int8 with these pairs of integers; (scale, zero point) of both and of the result."""
    values = np.array(pairs, np.int8).T.reshape(2, 1, 1, len(pairs), 1)
    ports = [(list(values[0].shape), np.int8, steps) for steps in scales]
    case(name, lambda: one(op, ports[:2], ports[2], options, **fields), made=True, values=list(values))


# Integers of which XNNPACK's result is not the one that float32 gives, as the real one lies within 1e-5 of a half.
pairs_case("add_int8_halves", "ADD", [(0.010211312212049961, -128), (0.01391045656055212, -51), (0.009693232364952564, -128)],
           [(-59, 52), (28, -92), (0, 0), (-128, -51), (127, 127), (5, -7)], "AddOptions")
# The same with stored integers, whose scale is moved when it is read.
case("add_int8_stored_halves", lambda: one("ADD", [([1, 1, 6, 1], np.int8, (0.010211312212049961, -128)),
                                                   ([1, 1, 6, 1], np.int8, (0.01391045656055212, -51), [52, -92, 0, -51, 127, -7])],
                                           ([1, 1, 6, 1], np.int8, (0.009693232364952564, -128)), "AddOptions"),
     made=True, values=[np.array([-59, 28, 0, -128, 127, 5], np.int8).reshape(1, 1, 6, 1)])
pairs_case("sub_int8_halves", "SUB", [(0.013326938264071941, 99), (0.070465587079525, 4), (0.05955628678202629, -21)],
           [(-30, 2), (55, 84), (99, 4), (-128, 127)], "SubOptions")
pairs_case("mul_int8_halves", "MUL", [(0.004449494648724794, -7), (0.00390625, -128), (0.0022884970530867577, -41)],
           [(119, 23), (0, 0), (-128, 127), (7, 100)], "MulOptions")
# 49.50000045 steps, of which the kernel makes 50, and 148.50000135, of which it makes 148: no scales do both.
pairs_case("mul_int8_grid_halves", "MUL", [(0.009177163, -98), (0.00390625, -128), (0.0051592574, -97)],
           [(-46, 9), (39, -76), (39, 28), (58, 9), (-98, -128)], "MulOptions")
pairs_case("add_int8_relu", "ADD", [(0.05, -3), (0.031, 5), (0.06, 5)], [(-100, -20), (3, 90), (100, 100), (-20, 40), (127, -128)], "AddOptions",
           fusedActivationFunction=1)
one_case("mean_int8", "MEAN", [([2, 5, 7, 3], np.int8, (0.05, -3)), ([2], I, [1, 2])], ([2, 1, 1, 3], np.int8, (0.02, 4)), "ReducerOptions", keepDims=True)
one_case("mean_int8_without_axes", "MEAN", [([2, 5, 7, 3], np.int8, (0.05, -3)), ([2], I, [-2, 1])], ([2, 3], np.int8, (0.02, 4)), "ReducerOptions",
         keepDims=False)


# Activations that are fused into an operator, which the converter does for some only.
def stored(*shape):
    return list(shape), F, rng().normal(0, 0.5, shape)


WINDOW = dict(strideW=2, strideH=2, filterWidth=2, filterHeight=2, padding=1)
WIDE, WIDE_VECTOR, CUBE, POOLED = ([1, 6, 6, 2], F, -9, 9), ([2, 5], F, -9, 9), ([1, 4, 4, 4, 2], F, -9, 9), ([1, 3, 3, 2], F)
FUSED = {
    "add": ("ADD", [WIDE_VECTOR] * 2, VECTOR, "AddOptions", {}),
    "sub": ("SUB", [WIDE_VECTOR] * 2, VECTOR, "SubOptions", {}),
    "mul": ("MUL", [WIDE_VECTOR] * 2, VECTOR, "MulOptions", {}),
    "div": ("DIV", [WIDE_VECTOR] * 2, VECTOR, "DivOptions", {}),
    "average_pool_2d": ("AVERAGE_POOL_2D", [WIDE], POOLED, "Pool2DOptions", WINDOW),
    "max_pool_2d": ("MAX_POOL_2D", [WIDE], POOLED, "Pool2DOptions", WINDOW),
    "l2_pool_2d": ("L2_POOL_2D", [WIDE], POOLED, "Pool2DOptions", WINDOW),
    "conv_2d": ("CONV_2D", [WIDE, stored(4, 3, 3, 2), stored(4)], ([1, 6, 6, 4], F), "Conv2DOptions", dict(strideW=1, strideH=1)),
    "depthwise_conv_2d": ("DEPTHWISE_CONV_2D", [WIDE, stored(1, 3, 3, 4), stored(4)], ([1, 4, 4, 4], F), "DepthwiseConv2DOptions",
                          dict(strideW=1, strideH=1, depthMultiplier=2, padding=1)),
    "conv_3d": ("CONV_3D", [CUBE, stored(2, 2, 2, 2, 3), stored(3)], ([1, 3, 3, 3, 3], F), "Conv3DOptions", dict(strideW=1, strideH=1, strideD=1, padding=1)),
    "fully_connected": ("FULLY_CONNECTED", [WIDE_VECTOR, stored(4, 5), stored(4)], ([2, 4], F), "FullyConnectedOptions", {}),
    "transpose_conv": ("TRANSPOSE_CONV", [([4], I, [1, 12, 12, 4]), stored(4, 3, 3, 2), WIDE], ([1, 12, 12, 4], F), "TransposeConvOptions",
                       dict(strideW=2, strideH=2)),
}
for name, (op, ports, port, options, fields) in FUSED.items():
    taken = [spec for spec in ports if len(spec) == 4]
    for number, activation in {1: "relu", 2: "relu_n1_to_1", 3: "relu6"}.items():
        case(f"{name}_fused_{activation}", lambda o=op, p=ports, r=port, k=options, f=fields, n=number: one(
            o, [spec if len(spec) == 3 else spec[:2] for spec in p], r, k, fusedActivationFunction=n, **f), *taken, made=True)
one_case("l2_pool_2d_same", "L2_POOL_2D", [IMAGE], ([1, 4, 3, 3], F), "Pool2DOptions", strideW=2, strideH=2, filterWidth=3, filterHeight=2)
case("reduce_any_keep_dims", lambda x: tf.reduce_any(x, 1, keepdims=True), ([3, 4], B))
case("reduce_all_without_axis", lambda x: tf.reduce_all(x, 0), ([3, 4], B))

case("lstm", lambda: lstm(False, False), ([2, 4, 3], F), made=True)
case("lstm_time_major_peepholes", lambda: lstm(True, True), ([4, 2, 3], F), made=True)


one_case("reshape_to_scalar", "RESHAPE", [([1], F), ([0], I, [])], ([], F), "ReshapeOptions", newShape=[])
for name, shape, order, block_map, block_sizes in [("rows", (5, 7), [0, 1], [], []), ("columns", (5, 7), [1, 0], [], []),
                                                   ("blocks", (6, 8), [0, 1, 2], [1], [4]), ("blocks_of_two_axes", (6, 8), [0, 1, 2, 3], [0, 1], [3, 2]),
                                                   ("filters", (4, 2, 2, 6), [0, 1, 2, 3], [], [])]:
    case(f"densify_{name}", lambda shape=shape, given=(order, block_map, block_sizes): sparse(
        sparse_numbers(*shape, block=given[2][-1] if given[2] else 1), *given), (list(shape), F), made=True)


def custom(op, options, inputs, outputs):
    """A file with one custom operator, whose options are bytes. Inputs and outputs as those of `one`, inputs that the file does not store first."""
    from tensorflow.lite.python import schema_py_generated as schema
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(one("ADD_N", inputs, outputs[0]), 0))
    graph, code, node = model.subgraphs[0], model.operatorCodes[0], model.subgraphs[0].operators[0]
    for i, (shape, dtype) in enumerate(outputs[1:]):
        made = schema.TensorT()
        made.name, made.shape, made.type, made.buffer = f"y{i + 1}", list(shape), 0, 0
        graph.tensors.append(made)
    node.outputs = graph.outputs = list(range(len(inputs), len(inputs) + len(outputs)))
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode, node.customOptions = op, np.frombuffer(options, np.uint8)
    return packed(model)


def detections(**options):
    from flatbuffers import flexbuffers
    built = flexbuffers.Builder()
    with built.Map():
        for name, value in {"max_detections": 6, "max_classes_per_detection": 1, "num_classes": 3, "nms_score_threshold": 0.1, "nms_iou_threshold": 0.4,
                            "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0, **options}.items():
            (built.Bool if isinstance(value, bool) else built.Int if isinstance(value, int) else built.Float)(name, value)
    return bytes(built.Finish())


def anchors():
    grid = (np.arange(4) + 0.5) / 4
    return [(y, x, 0.3, 0.3) for y in grid for x in grid]


DETECTED = [([1, 6, 4], F), ([1, 6], F), ([1, 6], F), ([1], F)]
for name, classes, options in (("", 3, {}), ("_background", 4, {}), ("_by_class", 4, {"use_regular_nms": True, "detections_per_class": 4}),
                               ("_few", 3, {"use_regular_nms": True, "nms_score_threshold": 0.97})):
    case(f"custom_detection_postprocess{name}", lambda c=classes, o=options: custom(
        "TFLite_Detection_PostProcess", detections(**o), [([1, 16, 4], F), ([1, 16, c], F), ([16, 4], F, anchors())], DETECTED),
        ([1, 16, 4], F, -3, 3), ([1, 16, classes], F, 0, 1), made=True)
for padding, size in ((1, [5, 5]), (2, [7, 6])):
    case(f"custom_convolution2dtransposebias_{padding}", lambda p=padding, n=size: custom(
        "Convolution2DTransposeBias", np.array([p, 2, 2], I).tobytes(), [([1, 3, 3, 2], F), stored(4, 3, 2, 2), stored(4)], [([1, *n, 4], F)]),
        ([1, 3, 3, 2], F), made=True)


FRAMES = (np.arange(12) / 8 - 0.7).reshape(1, 4, 3).astype(F)


def stateful():
    """A window of the last frames and their sum, kept from run to run."""
    module = tf.Module()
    module.window, module.scale = tf.Variable(FRAMES, name="window"), tf.Variable([0.5, 2.0, 1.0], name="scale")
    module.sum = tf.Variable(tf.ones([3]), name="sum")

    @tf.function(input_signature=[tf.TensorSpec([1, 2, 3], F, name="x0")])
    def call(x):
        window = tf.concat([module.window, x], 1)
        module.window.assign(window[:, 2:])
        module.sum.assign_add(tf.reduce_sum(x, [0, 1]))
        return tf.reduce_sum(window, 1) * module.scale + module.sum

    module.call = call
    converter = tf.lite.TFLiteConverter.from_concrete_functions([call.get_concrete_function()], module)
    converter.experimental_enable_resource_variables = True
    return converter.convert()


# The states afterwards are outputs that the file does not have.
case("variables", stateful, ([1, 2, 3], F), made=True, states=lambda x: [1 + x.sum((0, 1)), np.concatenate([FRAMES, x], 1)[:, 2:]])

ROWS = ([6, 3], F)
for name, op in {"sum": tf.math.unsorted_segment_sum, "prod": tf.math.unsorted_segment_prod, "max": tf.math.unsorted_segment_max,
                 "min": tf.math.unsorted_segment_min}.items():
    case(f"unsorted_segment_{name}", lambda x, f=op: f(x, [2, 0, 2, 1, 0, -1], 4), ROWS)
case("unsorted_segment_prod_of_few", lambda x: tf.math.unsorted_segment_prod(x, [0, 0, 2, 1], 4), ([4], F))
case("segment_sum", lambda x: tf.math.segment_sum(x, [0, 0, 1, 1, 2, 2]), ROWS)
case("dynamic_update_slice", lambda: one("DYNAMIC_UPDATE_SLICE", [([4, 5], F), ([2, 3], F), ([2], I, [1, 2])], ([4, 5], F)), ([4, 5], F), ([2, 3], F), made=True)
case("dynamic_update_slice_moved", lambda: one("DYNAMIC_UPDATE_SLICE", [([4, 5], F), ([2, 3], F), ([2], I, [7, -2])], ([4, 5], F)), ([4, 5], F), ([2, 3], F), made=True)
case("dynamic_update_slice_flags", lambda: one("DYNAMIC_UPDATE_SLICE", [([4, 5], B), ([2, 3], B), ([2], I, [1, 2])], ([4, 5], B)), ([4, 5], B), ([2, 3], B), made=True)
case("reverse_sequence", lambda x, n: tf.reverse_sequence(x, n, seq_axis=1, batch_axis=0), ([3, 5, 2], F), ([3], I, 1, 5))
case("reverse_sequence_batch_last", lambda x, n: tf.reverse_sequence(x, n, seq_axis=0, batch_axis=1), ([5, 3, 2], F), ([3], I, 1, 5))
case("where", lambda x: tf.where(x), ([3, 4], B))
case("atan2", lambda y, x: tf.atan2(y, x), VECTOR, VECTOR)
case("bitwise_xor", lambda x, y: tf.bitwise.bitwise_xor(x, y), INTEGERS, INTEGERS)
one_case("bucketize", "BUCKETIZE", [VECTOR], ([2, 5], I), "BucketizeOptions", boundaries=[-0.5, 0.0, 0.25, 1.0])
case("embedding_lookup", lambda: one("EMBEDDING_LOOKUP", [([4], I), (*stored(6, 3),)], ([4, 3], F)), ([4], I, 0, 6), made=True)
for padding in ("SAME", "VALID"):
    case(f"conv_3d_transpose_{padding.lower()}", lambda x, p=padding, n=[1, 6, 8, 8, 4] if padding == "SAME" else [1, 7, 9, 9, 4]: tf.nn.conv3d_transpose(
        x, weight(3, 3, 3, 4, 2), n, [1, 2, 2, 2, 1], padding=p), ([1, 3, 4, 4, 2], F))
for number, activation in {1: "relu", 2: "relu_n1_to_1", 3: "relu6"}.items():
    case(f"conv_3d_transpose_fused_{activation}", lambda n=number: one(
        "CONV_3D_TRANSPOSE", [([5], I, [1, 6, 8, 8, 4]), stored(3, 3, 3, 4, 2), ([1, 3, 4, 4, 2], F)], ([1, 6, 8, 8, 4], F), "Conv3DOptions", strideD=2,
        strideW=2, strideH=2, fusedActivationFunction=n), ([1, 3, 4, 4, 2], F, -9, 9), made=True)


def converted(function, inputs, how):
    if "made" in how:
        return function()
    specs = [tf.TensorSpec(spec[0], tf.as_dtype(spec[1]), name=f"x{i}") for i, spec in enumerate(inputs)]
    module = tf.Module()
    module.call = tf.function(function, input_signature=specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([module.call.get_concrete_function()], module)
    random = np.random.default_rng(3)
    if how:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if "float16" in how:
        converter.target_spec.supported_types = [tf.float16]
    if "int8" in how or "int8_inside" in how or "int16" in how:
        converter.representative_dataset = lambda: ([values_of(spec, random) for spec in inputs] for _ in range(4))
        ops = tf.lite.OpsSet.TFLITE_BUILTINS_INT8 if "int16" not in how else tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        converter.target_spec.supported_ops = [ops]
    if "int8" in how:
        converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def recorded(content, inputs, resolver, integers=None):
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=resolver)
    random, values = np.random.default_rng(5), {}
    ports = interpreter.get_input_details()
    given = integers or [values_of(spec, random) for spec in inputs]
    order = sorted(range(len(ports)), key=lambda i: ports[i]["name"])
    for place, value in zip(order, given):
        details = ports[place]
        if details["dtype"] == np.int8 and value.dtype != np.int8:
            scale, zero = details["quantization"]
            value = np.clip(np.round(value / scale) + zero, -128, 127).astype(np.int8)
        interpreter.resize_tensor_input(details["index"], value.shape)
        values[f"input_{place}"] = value
    interpreter.allocate_tensors()
    for place, details in enumerate(ports):
        interpreter.set_tensor(details["index"], values[f"input_{place}"])
    interpreter.invoke()
    for i, details in enumerate(interpreter.get_output_details()):
        values[f"output_{i}"] = interpreter.get_tensor(details["index"])
    return values


def main():
    (FOLDER / "refused").mkdir(parents=True, exist_ok=True)
    (FOLDER / "refused/operators.tflite").write_bytes(refused())
    (FOLDER / "refused/fused_tanh.tflite").write_bytes(one("ADD", [VECTOR] * 2, VECTOR, "AddOptions", fusedActivationFunction=4))
    for name, content in damaged().items():
        (FOLDER / f"refused/{name}.tflite").write_bytes(content)
    for name in sys.argv[1:] or CASES:
        function, inputs, how = CASES[name]
        try:
            content = converted(function, inputs, how)
            # The reference lacks kernels of float, and its LocalResponseNormalization another window.
            # What computes integers rounds as XNNPACK does, which alone has MediaPipe's convolution.
            resolver = OpResolverType.AUTO if "values" in how or name.startswith(("resize_bilinear_int8", "mean_int8", "custom_convolution")) else OpResolverType.BUILTIN_REF if name.startswith("network_int") else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            values = recorded(content, inputs, resolver, how.get("values"))
        except Exception as error:  # the converter raises anything
            print(f"{name}: {str(error).splitlines()[0]}")
            continue
        for i, state in enumerate(how["states"](values["input_0"]) if "states" in how else ()):
            values[f"output_{i + 1}"] = state
        (FOLDER / f"{name}.tflite").write_bytes(content)
        np.savez_compressed(FOLDER / f"{name}.npz", **values)


main()
