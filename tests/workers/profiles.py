"""What workers tell of the steps of small models: sums over all turns of a loop, and nodes of the model behind the names that a runtime's own
passes made up."""
import importlib.util
import pathlib
import sys
import tempfile
import types

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from host import Answer

FLOAT, HALF, INT64, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL
ADAPTERS = pathlib.Path(__file__).resolve().parents[2] / "tools/workers"
PRODUCTS = ("Conv", "MatMul", "Gemm", "MaxPool", "LayerNormalization")


def model_of(nodes, inputs, outputs, constants=()):
    constants = [numpy_helper.from_array(value, name) for name, value in constants]
    made = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def loop():
    """x times w in every turn, as many as the input says."""
    nodes = [helper.make_node("MatMul", ["s", "w"], ["p"]), helper.make_node("Tanh", ["p"], ["t"]), helper.make_node("Identity", ["c"], ["d"])]
    body = helper.make_graph(nodes, "body", [value("i", INT64, []), value("c", BOOL, []), value("s", FLOAT, [8, 8])], [value("d", BOOL, []), value("t", FLOAT, [8, 8])])
    node = helper.make_node("Loop", ["turns", "goes_on", "x"], ["y"], name="loop", body=body)
    return model_of([node], [value("turns", INT64, []), value("x", FLOAT, [8, 8])], [value("y", FLOAT, [8, 8])],
                    [("goes_on", np.array(True)), ("w", np.eye(8, dtype=np.float32))])


def half():
    """A convolution of float16, which runtimes run in float32 between casts, with what follows fused."""
    weight = np.random.default_rng(0).standard_normal((16, 16, 3, 3)).astype(np.float16)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="block/conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"], name="block/act")]
    return model_of(nodes, [value("x", HALF, [1, 16, 8, 8])], [value("y", HALF, [1, 16, 8, 8])], [("w", weight)])


def biased():
    """A convolution whose bias is added elsewhere, as at the start of vision transformers."""
    weight = np.random.default_rng(1).standard_normal((16, 3, 4, 4)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], name="patches/conv", kernel_shape=[4, 4], strides=[4, 4]),
             helper.make_node("Reshape", ["c", "shape"], ["r"], name="patches/reshape"), helper.make_node("Transpose", ["r"], ["y"], name="patches/transpose", perm=[0, 2, 1])]
    return model_of(nodes, [value("x", FLOAT, [1, 3, 32, 32])], [value("y", FLOAT, [1, 64, 16])],
                    [("w", weight), ("b", np.ones(16, np.float32)), ("shape", np.array([1, 16, 64]))])


def quantized():
    """Two convolutions and a pool between QuantizeLinear and DequantizeLinear."""
    random, nodes, constants = np.random.default_rng(2), [], [("scale", np.array(0.1, np.float32)), ("zero", np.array(0, np.uint8))]

    def rounded(name):
        nodes.append(helper.make_node("QuantizeLinear", [name, "scale", "zero"], [f"{name}_q"], name=f"{name}/quantize"))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", "scale", "zero"], [f"{name}_d"], name=f"{name}/dequantize"))
        return f"{name}_d"

    def convolution(name, source, weights):
        constants.extend([(f"{name}_w", random.integers(-9, 9, weights).astype(np.int8)), (f"{name}_s", np.array(0.05, np.float32)), (f"{name}_z", np.array(0, np.int8))])
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_w", f"{name}_s", f"{name}_z"], [f"{name}_v"], name=f"{name}/weight"))
        nodes.append(helper.make_node("Conv", [source, f"{name}_v"], [f"{name}_c"], name=f"{name}/conv"))
        nodes.append(helper.make_node("Relu", [f"{name}_c"], [name], name=f"{name}/act"))

    convolution("a", rounded("x"), (16, 3, 3, 3))
    nodes.append(helper.make_node("MaxPool", [rounded("a")], ["m"], name="pool", kernel_shape=[2, 2], strides=[2, 2]))
    convolution("b", rounded("m"), (16, 16, 3, 3))
    nodes.append(helper.make_node("Identity", [rounded("b")], ["y"], name="end"))
    return model_of(nodes, [value("x", FLOAT, [1, 3, 16, 16])], [value("y")], constants)


def attention():
    """A scaled product and a normalization from its parts, which ONNX Runtime fuses under names of its own."""
    nodes = [helper.make_node("MatMul", ["q", "k"], ["p"], name="scores"), helper.make_node("Mul", ["p", "scale"], ["s"], name="scaled"),
             helper.make_node("ReduceMean", ["s"], ["m"], name="norm/mean", axes=[-1]), helper.make_node("Sub", ["s", "m"], ["d"], name="norm/sub"),
             helper.make_node("Pow", ["d", "two"], ["e"], name="norm/pow"), helper.make_node("ReduceMean", ["e"], ["v"], name="norm/variance", axes=[-1]),
             helper.make_node("Add", ["v", "little"], ["a"], name="norm/add"), helper.make_node("Sqrt", ["a"], ["r"], name="norm/sqrt"),
             helper.make_node("Div", ["d", "r"], ["n"], name="norm/div"), helper.make_node("Mul", ["n", "gamma"], ["g"], name="norm/mul"),
             helper.make_node("Add", ["g", "beta"], ["y"], name="norm/last")]
    numbers = [("scale", 0.125), ("two", 2), ("little", 1e-5), ("gamma", [1] * 8), ("beta", [0.5] * 8)]
    return model_of(nodes, [value("q", FLOAT, [1, 2, 8, 16]), value("k", FLOAT, [1, 2, 16, 8])], [value("y", FLOAT, [1, 2, 8, 8])],
                    [(name, np.array(number, np.float32)) for name, number in numbers])


def projected():
    """A product whose sum ONNX Runtime makes a part of it, behind one without a name that a Constant stands before."""
    nodes = [helper.make_node("Constant", [], ["half"], value=numpy_helper.from_array(np.float32(0.5))), helper.make_node("MatMul", ["x", "w"], ["a"]),
             helper.make_node("Clip", ["a", "half"], ["b"]), helper.make_node("MatMul", ["b", "w"], ["c"], name="fc/MatMul"), helper.make_node("Add", ["c", "v"], ["y"], name="fc/Add")]
    return model_of(nodes, [value("x", FLOAT, [4, 8])], [value("y", FLOAT, [4, 8])], [("w", np.random.default_rng(3).standard_normal((8, 8)).astype(np.float32)), ("v", np.ones(8, np.float32))])


def adapter(name):
    """The module of a worker, which serves nobody here."""
    sys.path.insert(0, str(ADAPTERS))
    spec = importlib.util.spec_from_file_location(f"{name}_adapter", ADAPTERS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SystemExit:  # as it was not started by onnxkit
        pass
    return module


def named_by_onnxruntime():
    """Names of its steps, and the last name that a node is looked for by."""
    after = adapter("onnxruntime").named_after
    for name, op, last in (("/conv1/Conv_quant_token_1", "QLinearConv", "/conv1/Conv_quant"), ("InsertedPrecisionFreeCast_/Relu_output_0_nchwc", "Conv", "/Relu_output_0"),
                           ("InsertedPrecisionFreeCast_/Relu_output_0", "Cast", "InsertedPrecisionFreeCast_/Relu_output_0"), ("fused /fc1/Gemm", "FusedGemm", "/fc1/Gemm"),
                           ("/attn/MatMul/MatMulScaleFusion/", "FusedMatMul", "/attn/MatMul"), ("/MatMulScaleFusion//MatmulTransposeFusion/", "FusedMatMul", "/MatMulScaleFusion/"),
                           ("Transpose_token_10", "Transpose", "Transpose_token_10"), ("ReorderOutput_token_77", "ReorderOutput", "ReorderOutput_token_77"),
                           ("fused conv_nchwc_token_3", "Conv", "conv"), ("fc/MatMulAddFusion", "Gemm", "fc"),
                           ("fused fc/MatMul/MatMulAddFusion", "FusedGemm", "fc/MatMul"), ("pick/GatherSliceToSplitFusion", "Split", "pick"),
                           ("block/ImageFusion", "MatMul", "block/ImageFusion"), ("", "Add", "")):
        if (found := after(name, op))[-1] != last:
            yield f"{name} ({op}) is called after {found}, not {last}"


def timed_by_onnxruntime():
    """A step of no microsecond beside one that begins in the same, and one inside an If."""
    def event(name, op, start, length):
        return {"name": f"{name}_kernel_time", "ts": start, "dur": length, "args": {"op_name": op, "node_index": "0", "output_size": "8"}}

    events = [event("short", "Reshape", 10, 0), event("long", "Conv", 10, 5), event("inner", "Add", 20, 3), event("outer", "If", 20, 4), event("inner", "Add", 25, 1), event("outer", "If", 25, 3)]
    steps = {step.name: step for step in adapter("onnxruntime").steps_of({"ts": 5}, events)}
    told = {name: (step.covers, round(1e6 * step.seconds), step.calls, step.bytes) for name, step in steps.items()}
    if told != {"short": (["short"], 0, 1, 8), "long": (["long"], 5, 1, 8), "inner": ([], 4, 2, 16), "outer": (["outer"], 3, 2, 16)}:
        yield f"steps {told}"


def named_by_openvino():
    fact = types.SimpleNamespace(value="/a/Conv/WithoutBiases,/a/Relu")
    nodes = [types.SimpleNamespace(get_rt_info=lambda: {"originalLayersNames": fact}, get_friendly_name=lambda: "/a/Conv/WithoutBiases")]
    model = types.SimpleNamespace(get_runtime_model=lambda: types.SimpleNamespace(get_ordered_ops=lambda: nodes))
    if "/a/Conv" not in (found := adapter("openvino").layers_of(model)["/a/Conv/WithoutBiases"]):
        yield f"the layers are {found}"


def alone(name):
    """(what, fault) of what needs no runtime."""
    for told in {"onnxruntime": (named_by_onnxruntime, timed_by_onnxruntime), "openvino": (named_by_openvino,)}.get(name, ()):
        yield told.__name__.replace("_", " "), "; ".join(told())


def profile_of(host, path, values, options):
    inputs = {name: (helper.np_dtype_to_tensor_dtype(given.dtype), given.shape, given.tobytes()) for name, given in values.items()}
    model = host.request("load", path=str(path), format="onnx", options=options)
    try:
        return host.profile(model["model"], inputs, repeat=2, warmup=1)["steps"]
    finally:
        host.request("unload", model=model["model"])


def fault_of_loop(host, path, options):
    """In five turns a step runs five times, and reads and writes five times as much."""
    x = np.ones((8, 8), np.float32)
    once, often = ({(step["name"], step["op"]): step for step in profile_of(host, path, {"turns": np.array(turns), "x": x}, options)} for turns in (1, 5))
    for key, step in often.items():
        if step.get("calls", 1) == 5 and key in once and step["bytes"] != (None if once[key]["bytes"] is None else 5 * once[key]["bytes"]):
            return f"{key[0]}: {step['bytes']} bytes in 5 turns, {once[key]['bytes']} in one"
    return ""


def fault_of_names(host, path, model, options):
    """Every step of a product, a pool or a normalization is called after a node of the model."""
    shapes = {port.name: [size.dim_value for size in port.type.tensor_type.shape.dim] for port in model.graph.input}
    kinds = {port.name: helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type) for port in model.graph.input}
    steps = profile_of(host, path, {name: np.ones(shape, kinds[name]) for name, shape in shapes.items()}, options)
    names = {name for node in model.graph.node for name in (node.name, *node.output)}
    counted = [node for node in model.graph.node if node.op_type != "Constant"]
    for step in steps:
        if step["place"] is not None and step["place"] < len(counted) and not counted[step["place"]].name and counted[step["place"]].op_type != step["op"]:
            return f"{step['name']} is said to be number {step['place']}, a {counted[step['place']].op_type}"
    is_hidden = any(names & set(step["covers"]) for step in steps)  # in a step that runs several nodes
    steps = [step for step in steps if any(product in step["op"] for product in PRODUCTS)]
    lost = [f"{step['name']} ({step['op']}), after {step['covers']}" for step in steps if step["place"] is None and not names & set(step["covers"])]
    return "no step of a product" if not steps and not is_hidden else "; ".join(f"no node is found for {step}" for step in lost)


def faults(host, options):
    """(what, fault), or nothing of a worker that does not tell of its steps."""
    with tempfile.TemporaryDirectory(prefix="onnxkit-profiles-") as folder:
        path = pathlib.Path(folder) / "model.onnx"
        onnx.save(loop(), path)
        try:
            yield "a profile of a loop", fault_of_loop(host, path, options)
        except Answer as error:
            if error.kind not in ("unsupported", "invalid"):
                yield "a profile of a loop", str(error)
            return
        for make in (half, biased, quantized, attention, projected):
            onnx.save(make(), path)
            yield f"names of steps: {make.__name__}", fault_of_names(host, path, make(), options)
