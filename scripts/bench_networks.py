"""Networks for scripts/bench_reference, and the runtimes that the reference executor is held against.

    bench_networks.py make FOLDER                   writes resnet50.onnx, densenet121.onnx, mobilenet_v2.onnx and bert.onnx
    bench_networks.py time PEER MODEL [REPEATS] [--all-cores]
                                                    prints the least CPU time and the least wall time of a run in milliseconds, on one thread unless told

PEER is onnxruntime or evaluator (onnx.reference). Weights are random and seeded; the structures are those of the published networks.
"""
import os
import pathlib
import sys
import time

ALL_CORES = "--all-cores" in sys.argv
if not ALL_CORES:
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # before numpy starts its threads

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """Nodes with fresh output names and their weights."""

    def __init__(self, name, input_shape):
        self.name, self.input_shape = name, input_shape
        self.nodes, self.weights = [], []
        self.random = np.random.default_rng(1)

    def node(self, op, inputs, **attributes):
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], output, **attributes))
        return output

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape, spread=1.0, mean=0.0):
        return self.constant((mean + spread * self.random.standard_normal(shape)).astype(np.float32))

    def positive(self, *shape):
        return self.constant(self.random.uniform(0.5, 1.5, shape).astype(np.float32))

    def conv(self, x, inputs, outputs, size, stride=1, group=1, gain=1.0):
        kernel = self.weight(outputs, inputs // group, size, size, spread=gain * (2 / (inputs // group * size * size)) ** 0.5)
        return self.node("Conv", [x, kernel], kernel_shape=[size] * 2, strides=[stride] * 2, pads=[size // 2] * 4, group=group)

    def norm(self, x, channels):
        scale, variance = self.positive(channels), self.positive(channels)
        return self.node("BatchNormalization", [x, scale, self.weight(channels, spread=0.1), self.weight(channels, spread=0.1), variance])

    def relu(self, x):
        return self.node("Relu", [x])

    def pool(self, op, x, size, stride, pad=0):
        return self.node(op, [x], kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def classify(self, x, channels, classes=1000):
        flat = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        weight = self.weight(classes, channels, spread=channels**-0.5)
        return self.node("Gemm", [flat, weight, self.weight(classes)], transB=1)

    def linear(self, x, inputs, outputs):
        product = self.node("MatMul", [x, self.weight(inputs, outputs, spread=inputs**-0.5)])
        return self.node("Add", [product, self.weight(outputs, spread=0.1)])

    def save(self, output, output_shape, folder):
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.input_shape)]
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)]
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="bench_networks")
        onnx.save(model, folder / f"{self.name}.onnx")


def resnet50(folder):
    net = Network("resnet50", [1, 3, 224, 224])
    x = net.relu(net.norm(net.conv("x", 3, 64, 7, 2), 64))
    x = net.pool("MaxPool", x, 3, 2, 1)
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner, outer = 64 << stage, 256 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = net.relu(net.norm(net.conv(x, channels, inner, 1), inner))
            y = net.relu(net.norm(net.conv(y, inner, inner, 3, stride), inner))
            y = net.norm(net.conv(y, inner, outer, 1, gain=0.5), outer)  # all sums of a block fit float16
            if block == 0:
                x = net.norm(net.conv(x, channels, outer, 1, stride), outer)
            x = net.relu(net.node("Add", [y, x]))
            channels = outer
    net.save(net.classify(x, channels), [1, 1000], folder)


def densenet121(folder):
    net = Network("densenet121", [1, 3, 224, 224])
    growth = 32
    x = net.relu(net.norm(net.conv("x", 3, 64, 7, 2), 64))
    x = net.pool("MaxPool", x, 3, 2, 1)
    channels = 64
    for layers in (6, 12, 24, 16):
        if channels != 64:  # a transition between blocks
            x = net.conv(net.relu(net.norm(x, channels)), channels, channels // 2, 1)
            x = net.pool("AveragePool", x, 2, 2)
            channels //= 2
        for _ in range(layers):
            y = net.conv(net.relu(net.norm(x, channels)), channels, 4 * growth, 1)
            y = net.conv(net.relu(net.norm(y, 4 * growth)), 4 * growth, growth, 3)
            x = net.node("Concat", [x, y], axis=1)
            channels += growth
    net.save(net.classify(net.relu(net.norm(x, channels)), channels), [1, 1000], folder)


def mobilenet_v2(folder):
    net = Network("mobilenet_v2", [1, 3, 224, 224])
    zero, six = net.constant(np.array(0, np.float32)), net.constant(np.array(6, np.float32))

    def relu6(x):
        return net.node("Clip", [x, zero, six])

    x = relu6(net.norm(net.conv("x", 3, 32, 3, 2), 32))
    channels = 32
    for expand, outer, blocks, first_stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            inner = channels * expand
            y = x if expand == 1 else relu6(net.norm(net.conv(x, channels, inner, 1), inner))
            y = relu6(net.norm(net.conv(y, inner, inner, 3, stride, group=inner), inner))
            y = net.norm(net.conv(y, inner, outer, 1), outer)
            x = net.node("Add", [x, y]) if stride == 1 and channels == outer else y
            channels = outer
    x = relu6(net.norm(net.conv(x, channels, 1280, 1), 1280))
    net.save(net.classify(x, 1280), [1, 1000], folder)


def bert(folder, tokens=128, width=768, heads=12, layers=12):
    net = Network("bert", [1, tokens, width])
    split = net.constant(np.array([0, 0, heads, width // heads], np.int64))
    joined = net.constant(np.array([0, 0, width], np.int64))
    scale = net.constant(np.array((width / heads) ** -0.5, np.float32))
    root2, one, half = (net.constant(np.array(value, np.float32)) for value in (2**0.5, 1, 0.5))

    def head(x, perm):
        return net.node("Transpose", [net.node("Reshape", [net.linear(x, width, width), split])], perm=perm)

    def normed(x):
        return net.node("LayerNormalization", [x, net.positive(width), net.weight(width, spread=0.1)], axis=-1, epsilon=1e-12)

    def gelu(x):
        erf = net.node("Add", [net.node("Erf", [net.node("Div", [x, root2])]), one])
        return net.node("Mul", [net.node("Mul", [x, erf]), half])

    x = "x"
    for _ in range(layers):
        query, key, value = head(x, [0, 2, 1, 3]), head(x, [0, 2, 3, 1]), head(x, [0, 2, 1, 3])
        scores = net.node("Softmax", [net.node("Mul", [net.node("MatMul", [query, key]), scale])], axis=-1)
        mixed = net.node("Transpose", [net.node("MatMul", [scores, value])], perm=[0, 2, 1, 3])
        x = normed(net.node("Add", [net.linear(net.node("Reshape", [mixed, joined]), width, width), x]))
        x = normed(net.node("Add", [net.linear(gelu(net.linear(x, width, 4 * width)), 4 * width, width), x]))
    net.save(x, [1, tokens, width], folder)


def inputs_of(model):
    weights = {tensor.name for tensor in model.graph.initializer}
    random = np.random.default_rng(1)
    inputs = {}
    for info in model.graph.input:
        if info.name not in weights:
            shape = [dim.dim_value or 1 for dim in info.type.tensor_type.shape.dim]
            inputs[info.name] = random.standard_normal(shape).astype(np.float32)
    return inputs


def runner(peer, path):
    model = onnx.load(path)
    inputs = inputs_of(model)
    if peer == "evaluator":
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(model)
        return lambda: evaluator.run(None, inputs)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if not ALL_CORES:
        options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def least_times(run, repeats):
    cpu, wall = [], []
    for _ in range(repeats):
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        run()
        cpu.append(time.process_time() - cpu_start)
        wall.append(time.perf_counter() - wall_start)
    return min(cpu), min(wall)


def main():
    command, *words = [word for word in sys.argv[1:] if word != "--all-cores"]
    if command == "make":
        folder = pathlib.Path(words[0])
        folder.mkdir(parents=True, exist_ok=True)
        for make in (resnet50, densenet121, mobilenet_v2, bert):
            if not (folder / f"{make.__name__}.onnx").exists():
                make(folder)
    else:
        peer, path, repeats = words[0], words[1], int(words[2]) if len(words) > 2 else 5
        print(*(f"{1e3 * least:.2f}" for least in least_times(runner(peer, path), repeats)))


if __name__ == "__main__":
    main()
