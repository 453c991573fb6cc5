"""Models of one operator, or of a few that belong together, at sizes that networks have; for scripts/bench_operators."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(bool): TensorProto.BOOL,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.float16): TensorProto.FLOAT16}
random = np.random.default_rng(1)


def weights(*shape):
    return random.standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))


def uniform(*shape, low=0.0, high=1.0):
    return random.uniform(low, high, shape).astype(np.float32)


def integers(*shape, below):
    return random.integers(0, below, shape)


def model_of(nodes, inputs, constants, outputs=("y",), opset=OPSET, domains=()):
    """`inputs`: sizes by name, float32 where there is no type with them."""
    infos = [helper.make_tensor_value_info(name, *(given if isinstance(given, tuple) else (TensorProto.FLOAT, given)))
             for name, given in inputs.items()]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "operator", infos, [onnx.ValueInfoProto(name=name) for name in outputs], tensors)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=imports, ir_version=10))
    for output in model.graph.output:  # of functions whose sizes are those of the input, onnx tells nothing
        if not output.type.tensor_type.elem_type:
            output.type.CopyFrom(model.graph.input[0].type)
            if "ai.onnx.ml" in domains:
                output.type.tensor_type.ClearField("shape")
    return model


def one(op, x, constants=None, more=None, opset=OPSET, domain="", outputs=("y",), **attributes):
    """A node on x, then the other inputs, then the constants, which come behind it in this order."""
    inputs, constants = {"x": x, **(more or {})}, constants or {}
    node = helper.make_node(op, [*inputs, *constants], list(outputs), domain=domain, **attributes)
    return model_of([node], inputs, constants, outputs, opset, (domain,) if domain else ())


def sizes(*numbers):
    return np.array(numbers, np.int64)


IMAGE, WIDE, TOKENS = [1, 64, 56, 56], [1, 3, 224, 224], [1, 128, 768]


def convolutions():
    conv = lambda x, w, **a: one("Conv", x, {"w": weights(*w)}, **a)
    turned = lambda x, w, **a: one("ConvTranspose", x, {"w": weights(*w)}, **a)
    yield "conv 7x7, 3 channels", conv(WIDE, (64, 3, 7, 7), strides=[2, 2], pads=[3] * 4)
    yield "conv 3x3", conv(IMAGE, (64, 64, 3, 3), pads=[1] * 4)
    yield "conv 1x1", conv([1, 256, 56, 56], (64, 256, 1, 1))
    yield "conv 3x3, dilated", conv(IMAGE, (64, 64, 3, 3), pads=[2] * 4, dilations=[2, 2])
    yield "conv 3x3, 32 groups", conv([1, 128, 28, 28], (128, 4, 3, 3), pads=[1] * 4, group=32)
    yield "conv 3x3, depthwise", conv([1, 144, 56, 56], (144, 1, 3, 3), pads=[1] * 4, group=144)
    yield "conv 7x7, depthwise", conv([1, 96, 56, 56], (96, 1, 7, 7), pads=[3] * 4, group=96)
    yield "conv, line", conv([1, 80, 1000], (256, 80, 3), pads=[1, 1])
    yield "conv, line, depthwise", conv([1, 256, 1000], (256, 1, 31), pads=[15, 15], group=256)
    yield "conv, volume", conv([1, 32, 16, 32, 32], (32, 32, 3, 3, 3), pads=[1] * 6)
    yield "conv, volume, stride 2", conv([1, 32, 16, 32, 32], (64, 32, 3, 3, 3), pads=[1] * 6, strides=[2] * 3)
    yield "conv, volume, depthwise", conv([1, 32, 16, 32, 32], (32, 1, 3, 3, 3), pads=[1] * 6, group=32)
    yield "conv, weights of the run", one("Conv", IMAGE, more={"w": [64, 64, 3, 3]}, pads=[1] * 4)
    yield "conv transposed 2x2, stride 2", turned([1, 128, 64, 64], (128, 64, 2, 2), strides=[2, 2])
    yield "conv transposed 4x4, stride 2", turned([1, 128, 32, 32], (128, 64, 4, 4), strides=[2, 2], pads=[1] * 4)
    yield "conv transposed 4x4 to 3 channels", turned([1, 64, 64, 64], (64, 3, 4, 4), strides=[2, 2], pads=[1] * 4)
    yield "conv transposed 16x16, stride 8, depthwise", turned([1, 21, 28, 28], (21, 1, 16, 16), strides=[8, 8], pads=[4] * 4, group=21)
    yield "conv transposed, line, stride 8", turned([1, 256, 200], (256, 128, 16), strides=[8], pads=[4, 4])
    yield "conv transposed, volume, stride 2", turned([1, 64, 16, 16, 16], (64, 32, 2, 2, 2), strides=[2] * 3)


def pools():
    pool = lambda op, x, k, **a: one(op, x, kernel_shape=k, **a)
    yield "MaxPool 3x3", pool("MaxPool", [1, 64, 112, 112], [3, 3], strides=[2, 2], pads=[1] * 4)
    yield "AveragePool 2x2", pool("AveragePool", IMAGE, [2, 2], strides=[2, 2])
    yield "MaxPool, volume", pool("MaxPool", [1, 32, 16, 32, 32], [2, 2, 2], strides=[2] * 3)
    yield "AveragePool, line", pool("AveragePool", [8, 64, 1000], [3], strides=[1], pads=[1, 1])
    yield "GlobalAveragePool", one("GlobalAveragePool", [1, 2048, 7, 7])
    yield "GlobalMaxPool", one("GlobalMaxPool", [1, 2048, 7, 7])
    yield "LpPool", pool("LpPool", IMAGE, [2, 2], strides=[2, 2])
    yield "RoiAlign", one("RoiAlign", [1, 256, 50, 50], {"rois": np.sort(uniform(200, 2, 2, high=200), axis=1).reshape(200, 4),
                          "at": np.zeros(200, np.int64)}, output_height=7, output_width=7, sampling_ratio=2, spatial_scale=0.25)


def products():
    yield "MatMul 128 rows", one("MatMul", TOKENS, {"w": weights(768, 3072)})
    yield "MatMul one row", one("MatMul", [1, 1, 2048], {"w": weights(2048, 5632)})
    yield "MatMul of two inputs", one("MatMul", [12, 128, 64], more={"z": [12, 64, 128]})
    yield "Gemm", one("Gemm", [64, 1024], {"w": weights(1000, 1024), "b": weights(1, 1000)[0]}, transB=1)
    yield "Einsum bhqd,bhkd->bhqk", one("Einsum", [1, 12, 128, 64], more={"z": [1, 12, 128, 64]}, equation="bhqd,bhkd->bhqk")
    yield "Einsum bij,bjk->bik", one("Einsum", [8, 64, 64], more={"z": [8, 64, 64]}, equation="bij,bjk->bik")
    yield "MatMul float64", model_of([helper.make_node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE), helper.make_node("MatMul", ["d", "w"], ["y"])],
                                     {"x": [128, 512]}, {"w": random.standard_normal((512, 512))})
    yield "MatMulInteger", one("MatMulInteger", (TensorProto.UINT8, [128, 768]), {"w": random.integers(-128, 128, (768, 768)).astype(np.int8)})


def recurrent():
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        yield op, one(op, [100, 1, 256], {"w": weights(1, gates * 256, 256), "r": weights(1, gates * 256, 256)}, hidden_size=256, outputs=("y",))


def normalizations():
    by_channel = {"s": uniform(64), "b": uniform(64)}
    yield "LayerNormalization", one("LayerNormalization", TOKENS, {"s": uniform(768), "b": uniform(768)})
    yield "RMSNormalization", one("RMSNormalization", TOKENS, {"s": uniform(768)}, opset=23)
    yield "BatchNormalization", one("BatchNormalization", IMAGE, {**by_channel, "m": uniform(64), "v": uniform(64)})
    yield "InstanceNormalization", one("InstanceNormalization", IMAGE, by_channel)
    yield "GroupNormalization", one("GroupNormalization", IMAGE, by_channel, num_groups=32)
    yield "LpNormalization", one("LpNormalization", [64, 1000], axis=-1, p=2)
    yield "MeanVarianceNormalization", one("MeanVarianceNormalization", IMAGE)
    yield "LRN", one("LRN", IMAGE, size=5)
    yield "Softmax", one("Softmax", [12, 128, 128])
    yield "Softmax of channels", one("Softmax", [1, 21, 128, 128], axis=1)
    yield "LogSoftmax", one("LogSoftmax", [64, 1000])
    yield "Hardmax", one("Hardmax", [64, 1000])


def elementwise():
    for op in ("Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Erf", "Gelu", "Abs", "Neg", "Floor", "Round", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan",
               "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Softplus", "Softsign", "Elu", "Selu", "LeakyRelu", "HardSwish", "HardSigmoid", "Mish", "Celu",
               "Sign", "IsNaN", "Reciprocal", "Not"):
        yield op, one(op, (TensorProto.BOOL, IMAGE) if op == "Not" else IMAGE)
    for op in ("Add", "Mul", "Div", "Pow", "Max", "Min", "Greater", "Equal", "Mod"):
        yield op, one(op, IMAGE, more={"z": IMAGE}, **({"fmod": 1} if op == "Mod" else {}))
    yield "Add by channel", one("Add", IMAGE, {"b": uniform(64, 1, 1)})
    yield "Add by row", one("Add", TOKENS, {"b": uniform(768)})
    yield "PRelu", one("PRelu", IMAGE, {"b": uniform(64, 1, 1)})
    yield "Clip", one("Clip", IMAGE, {"low": np.float32(0), "high": np.float32(6)})
    yield "Where", one("Where", (TensorProto.BOOL, IMAGE), more={"a": IMAGE, "b": IMAGE})
    yield "Sum of three", one("Sum", IMAGE, more={"a": IMAGE, "b": IMAGE})
    yield "Cast to float16", one("Cast", IMAGE, to=TensorProto.FLOAT16)
    yield "Cast to int64", one("Cast", IMAGE, to=TensorProto.INT64)
    yield "Cast from uint8", one("Cast", (TensorProto.UINT8, WIDE), to=TensorProto.FLOAT)
    yield "QuantizeLinear", one("QuantizeLinear", IMAGE, {"s": np.float32(0.02), "z": np.uint8(128)})
    yield "DequantizeLinear", one("DequantizeLinear", (TensorProto.UINT8, IMAGE), {"s": np.float32(0.02), "z": np.uint8(128)})
    yield "DynamicQuantizeLinear", one("DynamicQuantizeLinear", TOKENS, outputs=("y", "s", "z"))
    yield "CumSum", one("CumSum", [64, 1000], {"axis": np.int64(1)})
    yield "CumSum of columns", one("CumSum", [64, 1000], {"axis": np.int64(0)})
    yield "CumSum of an inner axis", one("CumSum", IMAGE, {"axis": np.int64(2)}, exclusive=1)


def reductions():
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceProd"):
        yield f"{op} of rows", one(op, TOKENS, {"axes": sizes(-1)})
        yield f"{op} of images", one(op, IMAGE, {"axes": sizes(2, 3)})
    yield "ReduceSum of channels", one("ReduceSum", IMAGE, {"axes": sizes(1)})
    yield "ReduceMean of all", one("ReduceMean", IMAGE)
    yield "ArgMax of rows", one("ArgMax", [64, 1000], axis=-1)
    yield "ArgMax of channels", one("ArgMax", [1, 21, 128, 128], axis=1)
    yield "TopK", one("TopK", [64, 1000], {"k": sizes(10)}, outputs=("y", "i"))
    yield "TopK of all", one("TopK", [1, 10000], {"k": sizes(1000)}, outputs=("y", "i"))


def movements():
    yield "Transpose of images", one("Transpose", IMAGE, perm=[0, 2, 3, 1])
    yield "Transpose of heads", one("Transpose", [1, 128, 12, 64], perm=[0, 2, 1, 3])
    yield "Transpose of a matrix", one("Transpose", [1024, 1024], perm=[1, 0])
    yield "Concat of channels", one("Concat", IMAGE, more={"z": IMAGE}, axis=1)
    yield "Concat of rows", one("Concat", TOKENS, more={"z": TOKENS}, axis=-1)
    yield "Split", one("Split", [1, 128, 2304], axis=-1, num_outputs=3, outputs=("y", "a", "b"))
    yield "Slice with steps", one("Slice", IMAGE, {"b": sizes(0, 0), "e": sizes(1000, 1000), "a": sizes(2, 3), "s": sizes(2, 2)})
    yield "Pad", one("Pad", IMAGE, {"p": sizes(0, 0, 1, 1, 0, 0, 1, 1)})
    yield "Pad, reflect", one("Pad", IMAGE, {"p": sizes(0, 0, 3, 3, 0, 0, 3, 3)}, mode="reflect")
    yield "Expand", one("Expand", [1, 64, 1, 1], {"s": sizes(1, 64, 56, 56)})
    yield "Tile", one("Tile", IMAGE, {"r": sizes(1, 1, 2, 2)})
    yield "DepthToSpace", one("DepthToSpace", [1, 256, 56, 56], blocksize=2)
    yield "SpaceToDepth", one("SpaceToDepth", [1, 64, 112, 112], blocksize=2)
    yield "Gather of rows", model_of(
        [helper.make_node("Gather", ["w", "x"], ["y"])], {"x": (TensorProto.INT64, [1, 128])}, {"w": weights(30000, 768)})
    yield "Gather of columns", one("Gather", TOKENS, {"i": integers(64, below=768)}, axis=-1)
    yield "GatherElements", one("GatherElements", [64, 1000], {"i": integers(64, 100, below=1000)}, axis=1)
    yield "GatherElements of the run", one("GatherElements", [12, 128, 512], more={"i": (TensorProto.INT64, [12, 128, 128])}, axis=2)
    yield "GatherND", one("GatherND", [64, 1000], {"i": integers(5000, 2, below=64)})
    yield "ScatterElements", one("ScatterElements", [64, 1000], {"i": integers(64, 100, below=1000), "u": uniform(64, 100)}, axis=1)
    yield "ScatterND", one("ScatterND", [1000, 64], {"i": random.permutation(1000)[:500].reshape(500, 1), "u": uniform(500, 64)})
    yield "ScatterND max", one("ScatterND", [1000, 64], {"i": random.integers(0, 1000, (500, 1)), "u": uniform(500, 64)}, reduction="max")
    yield "ScatterElements add", one("ScatterElements", [64, 1000], {"i": integers(64, 100, below=1000), "u": uniform(64, 100)}, axis=1, reduction="add")
    yield "OneHot", one("OneHot", (TensorProto.INT64, [1000]), {"d": np.int64(100), "v": uniform(2)})
    yield "Trilu", one("Trilu", [12, 128, 128])
    yield "ReverseSequence", one("ReverseSequence", [100, 8, 256], {"l": integers(8, below=100) + 1})
    yield "NonZero", one("NonZero", (TensorProto.BOOL, [64, 1000]))
    yield "Col2Im", one("Col2Im", [1, 576, 3136], {"i": sizes(56, 56), "b": sizes(3, 3)}, pads=[1] * 4)


def samples():
    resize = lambda x, scales, **a: one("Resize", x, {"roi": np.zeros(0, np.float32), "s": np.array(scales, np.float32)}, **a)
    yield "Resize, nearest", resize(IMAGE, [1, 1, 2, 2], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    yield "Resize, linear", resize(IMAGE, [1, 1, 2, 2], mode="linear")
    yield "Resize, linear, smaller", resize(WIDE, [1, 1, 0.5, 0.5], mode="linear")
    yield "Resize, cubic", resize(IMAGE, [1, 1, 2, 2], mode="cubic")
    yield "Resize, volume", resize([1, 16, 16, 32, 32], [1, 1, 2, 2, 2], mode="linear")
    for mode in ("linear", "nearest", "cubic"):
        yield f"GridSample, {mode}", one("GridSample", [1, 64, 64, 64], more={"grid": [1, 64, 64, 2]}, mode=mode)
    yield "GridSample, 3 channels", one("GridSample", WIDE, more={"grid": [1, 224, 224, 2]}, mode="linear")
    yield "AffineGrid", one("AffineGrid", [1, 2, 3], {"s": sizes(1, 3, 224, 224)})
    yield "DFT", one("DFT", [16, 1024, 1], {"n": np.array(1024, np.int64), "axis": np.array(1, np.int64)}, onesided=1)
    yield "STFT", one("STFT", [1, 16000], {"step": np.array(160, np.int64), "window": uniform(400), "n": np.array(400, np.int64)})


def trees(rows, trees=100, depth=8, features=20):
    """An ensemble of complete binary trees."""
    inner, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    ids = np.tile(np.arange(nodes), trees)
    is_leaf = ids >= inner
    child = lambda side: np.where(is_leaf, 0, 2 * ids + side)
    leaves = np.flatnonzero(is_leaf)
    tree = np.repeat(np.arange(trees), nodes)
    return one("TreeEnsembleRegressor", [rows, features], domain="ai.onnx.ml", n_targets=1,
               nodes_treeids=tree.tolist(), nodes_nodeids=ids.tolist(), nodes_truenodeids=child(1).tolist(), nodes_falsenodeids=child(2).tolist(),
               nodes_featureids=np.where(is_leaf, 0, integers(len(ids), below=features)).tolist(),
               nodes_values=uniform(len(ids), low=-1).tolist(), nodes_modes=["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf],
               target_treeids=tree[leaves].tolist(), target_nodeids=ids[leaves].tolist(), target_ids=[0] * len(leaves),
               target_weights=uniform(len(leaves), low=-1).tolist())


def support_vectors(kernel, rows, vectors=500, features=30):
    return one("SVMRegressor", [rows, features], domain="ai.onnx.ml", kernel_type=kernel, kernel_params=[0.05, 0.0, 3.0], n_supports=vectors,
               coefficients=uniform(vectors, low=-1).tolist(), support_vectors=uniform(vectors * features, low=-1).tolist(), rho=[0.25])


def machine_learning():
    yield "SVMRegressor, RBF, 1,000 rows", support_vectors("RBF", 1000)
    yield "SVMRegressor, RBF, one row", support_vectors("RBF", 1)
    yield "SVMRegressor, linear, 1,000 rows", support_vectors("LINEAR", 1000)
    yield "TreeEnsembleRegressor of 100 trees, one row", trees(1)
    yield "TreeEnsembleRegressor of 100 trees, 1,000 rows", trees(1000)
    yield "Scaler", one("Scaler", [1000, 20], domain="ai.onnx.ml", offset=uniform(20).tolist(), scale=uniform(20).tolist())
    yield "LinearClassifier", one("LinearClassifier", [1000, 20], domain="ai.onnx.ml", coefficients=uniform(200).tolist(),
                                  intercepts=uniform(10).tolist(), classlabels_ints=list(range(10)), outputs=("y", "s"))


def mixture(rows, experts, chosen, wide=512, inner=1024):
    layers = {"w1": weights(experts, inner, wide), "b1": uniform(experts, inner), "w2": weights(experts, wide, inner), "b2": uniform(experts, wide)}
    return one("MoE", [rows, wide], layers, {"r": [rows, experts]}, domain="com.microsoft", k=chosen, activation_type="silu", normalize_routing_weights=1)


def quantized_mixture(rows, bits, experts, chosen, wide=1024, inner=1024, block=32):
    """Gated, as the experts of gpt-oss are."""
    def layer(number, outputs, inputs):
        return {f"w{number}": integers(experts, outputs, inputs * bits // 8, below=256).astype(np.uint8),
                f"s{number}": uniform(experts, outputs, inputs // block, high=0.5 / 2**bits), f"b{number}": uniform(experts, outputs)}
    return one("QMoE", [rows, wide], {**layer(1, 2 * inner, wide), **layer(2, wide, inner)}, {"r": [rows, experts]}, domain="com.microsoft",
               k=chosen, activation_type="swiglu", swiglu_fusion=1, swiglu_limit=7.0, activation_alpha=1.702, activation_beta=1.0,
               expert_weight_bits=bits, block_size=block)


def experts():
    for rows in (1, 64):
        yield f"MoE, 2 of 8 experts, {rows} rows", mixture(rows, 8, 2)
        yield f"QMoE, 4 bits, 4 of 32 experts, {rows} rows", quantized_mixture(rows, 4, 32, 4)
        yield f"QMoE, 8 bits, 2 of 8 experts, {rows} rows", quantized_mixture(rows, 8, 8, 2)


def models():
    """(name, model) of all."""
    for make in (convolutions, pools, products, recurrent, normalizations, elementwise, reductions, movements, samples, machine_learning, experts):
        yield from make()
