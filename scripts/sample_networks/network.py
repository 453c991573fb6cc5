"""What the networks are built with."""
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import bench_networks


class Network(bench_networks.Network):
    """A network with several outputs."""

    def __init__(self, name, input_shape, seed=1):
        super().__init__(name, input_shape)
        self.random = numpy.random.default_rng(seed)

    def several(self, op, inputs, count, **attributes):
        """A node with several outputs."""
        outputs = [f"{op.lower()}_{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, inputs, outputs, outputs[0], **attributes))
        return outputs

    def integers(self, *numbers):
        return self.constant(numpy.array(numbers, numpy.int64))

    def real(self, number):
        return self.constant(numpy.float32(number))

    def biased_conv(self, x, inputs, outputs, size, stride=1, group=1, spread=None):
        spread = (2 / (inputs // group * size * size)) ** 0.5 if spread is None else spread
        return self.node("Conv", [x, self.weight(outputs, inputs // group, size, size, spread=spread), self.weight(outputs, spread=0.1)],
                         kernel_shape=[size] * 2, strides=[stride] * 2, pads=[size // 2] * 4, group=group)

    def features(self, x, widths=(3, 16, 24, 32)):
        """A trunk of convolutions, each half the size of the one before."""
        for inputs, outputs in zip(widths, widths[1:]):
            x = self.relu(self.biased_conv(x, inputs, outputs, 3, 2))
        return x

    def finished(self, outputs, opsets=(("", 17),)):
        """The model. `outputs` has the type and the shape of each output by its name, sizes as numbers or names."""
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.input_shape)]
        last = []
        for i, (value, (kind, shape)) in enumerate(outputs.items()):
            self.nodes.append(helper.make_node("Identity", [value], [f"y{i}"], f"y{i}"))
            last.append(helper.make_tensor_value_info(f"y{i}", kind, shape))
        graph = helper.make_graph(self.nodes, self.name, inputs, last, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in opsets], ir_version=8, producer_name="sample_networks")
        onnx.checker.check_model(model)
        return model


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
