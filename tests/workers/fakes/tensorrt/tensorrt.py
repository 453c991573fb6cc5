"""What the adapter uses of TensorRT 10, on the onnx package: enough to see that it is used as documented."""
import ctypes
import enum
import json

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

__version__ = "10.0.fake"
DataType = enum.Enum("DataType", "FLOAT HALF INT8 INT32 BOOL UINT8 FP8 BF16 INT64 INT4")
TensorIOMode = enum.Enum("TensorIOMode", "NONE INPUT OUTPUT")
BuilderFlag = enum.Enum("BuilderFlag", "FP16 BF16 TF32")
TYPES = {1: "FLOAT", 2: "UINT8", 3: "INT8", 6: "INT32", 7: "INT64", 9: "BOOL", 10: "HALF", 16: "BF16"}


class Logger:
    WARNING = 2

    def __init__(self, level):
        assert level == Logger.WARNING


class Tensor:
    def __init__(self, value):
        kind = value.type.tensor_type
        self.name, self.onnx_type = value.name, kind.elem_type
        self.dtype = DataType[TYPES[kind.elem_type]]
        self.shape = tuple(size.dim_value if size.HasField("dim_value") else -1 for size in kind.shape.dim)


class Network:
    """Filled by the parser."""

    def fill(self, path):
        self.path = path
        model = onnx.load(path)
        initial = {tensor.name for tensor in model.graph.initializer}
        self.inputs = [Tensor(value) for value in model.graph.input if value.name not in initial]
        self.outputs = [Tensor(value) for value in model.graph.output]
        self.evaluator = ReferenceEvaluator(model)

    num_inputs = property(lambda self: len(self.inputs))
    num_outputs = property(lambda self: len(self.outputs))

    def get_input(self, place):
        return self.inputs[place]

    def get_output(self, place):
        return self.outputs[place]


class Error:
    def __init__(self, text):
        self.text = text

    def desc(self):
        return self.text


class OnnxParser:
    def __init__(self, network, logger):
        self.network, self.errors = network, []

    num_errors = property(lambda self: len(self.errors))

    def get_error(self, place):
        return self.errors[place]

    def parse_from_file(self, path):
        try:
            self.network.fill(path)
        except Exception as error:
            self.errors.append(Error(f"In node 0: {error}"))
        return not self.errors


class Profile:
    def __init__(self):
        self.shapes = {}

    def set_shape(self, name, least, best, most):
        assert least == best == most
        self.shapes[name] = tuple(best)


class Config:
    def __init__(self):
        self.flags, self.profiles = {BuilderFlag.TF32}, []

    def set_flag(self, flag):
        self.flags.add(flag)

    def clear_flag(self, flag):
        self.flags.discard(flag)

    def add_optimization_profile(self, profile):
        self.profiles.append(profile)


class Builder:
    def __init__(self, logger):
        pass

    def create_network(self, flags):
        return Network()

    def create_builder_config(self):
        return Config()

    def create_optimization_profile(self):
        return Profile()

    def build_serialized_network(self, network, config):
        for tensor in network.inputs:
            shape = config.profiles[0].shapes[tensor.name] if -1 in tensor.shape else tensor.shape
            assert len(shape) == len(tensor.shape) and all(a in (-1, b) for a, b in zip(tensor.shape, shape))
        return json.dumps({"path": network.path, "flags": sorted(flag.name for flag in config.flags)}).encode()


class Runtime:
    def __init__(self, logger):
        pass

    def deserialize_cuda_engine(self, plan):
        try:
            network = Network()
            network.fill(json.loads(plan)["path"])
            return Engine(network)
        except ValueError:
            return None


class Engine:
    def __init__(self, network):
        self.network, self.tensors = network, network.inputs + network.outputs
        self.by_name = {tensor.name: tensor for tensor in self.tensors}

    num_io_tensors = property(lambda self: len(self.tensors))

    def get_tensor_name(self, place):
        return self.tensors[place].name

    def get_tensor_mode(self, name):
        return TensorIOMode.INPUT if self.by_name[name] in self.network.inputs else TensorIOMode.OUTPUT

    def get_tensor_dtype(self, name):
        return self.by_name[name].dtype

    def get_tensor_shape(self, name):
        return self.by_name[name].shape

    def is_shape_inference_io(self, name):
        return False

    def create_execution_context(self):
        return Context(self.network)


class Context:
    def __init__(self, network):
        self.network, self.shapes, self.addresses = network, {}, {}

    def set_input_shape(self, name, shape):
        self.shapes[name] = tuple(shape)
        return True

    def get_tensor_shape(self, name):
        if name in self.shapes:
            return self.shapes[name]
        zeros = {tensor.name: np.zeros(self.shapes[tensor.name], self.dtype(tensor)) for tensor in self.network.inputs}
        return self.network.evaluator.run([name], zeros)[0].shape

    def set_tensor_address(self, name, address):
        self.addresses[name] = address

    def execute_async_v3(self, stream):
        feeds = {tensor.name: self.read(tensor) for tensor in self.network.inputs}
        results = self.network.evaluator.run(None, feeds)
        for tensor, value in zip(self.network.outputs, results):
            value = np.ascontiguousarray(value)
            ctypes.memmove(self.addresses[tensor.name], value.ctypes.data, value.nbytes)
        return True

    def read(self, tensor):
        value = np.empty(self.shapes[tensor.name], self.dtype(tensor))
        ctypes.memmove(value.ctypes.data, self.addresses[tensor.name], value.nbytes)
        return value

    def dtype(self, tensor):
        return onnx.helper.tensor_dtype_to_np_dtype(tensor.onnx_type)
