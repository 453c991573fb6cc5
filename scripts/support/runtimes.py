"""Adapters of the runtimes that can be measured. Each loads a model and runs it; what goes wrong comes out as an exception."""
import re

import numpy as np
import onnx
from onnx import numpy_helper


def shortened(text, limit=140):
    """At most `limit` characters, cut between words."""
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " ..."


NO_RULE = "no conversion rule"


class NotFeedable(Exception):
    """The Python interface of the runtime cannot take an input of this type; says nothing about the runtime."""


PACKED = {onnx.TensorProto.DataType.Value(name) for name in ("UINT4", "INT4", "FLOAT4E2M1", "UINT2", "INT2", "FLOAT6E2M3", "FLOAT6E3M2")}
# Element types that plain numpy has.
NUMPY = {
    onnx.TensorProto.DataType.Value(name)
    for name in "FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128".split()
}


def python_value(proto):
    """What a Python interface takes for a sequence, optional or map."""
    if isinstance(proto, onnx.SequenceProto):
        return numpy_helper.to_list(proto)
    if isinstance(proto, onnx.OptionalProto):
        return numpy_helper.to_optional(proto)
    if proto.key_type == onnx.TensorProto.STRING:
        keys = [k.decode() for k in proto.string_keys]
    else:
        keys = list(proto.keys)
    return dict(zip(keys, (v.reshape(-1)[0].item() for v in numpy_helper.to_list(proto.values))))


class OnnxRuntime:
    package = "onnxruntime"
    about = "ONNX Runtime, CPU execution provider, default graph optimizations"
    native_domains = ("com.microsoft",)
    foreign_domains = ()

    def __init__(self):
        import onnxruntime

        self.ort = onnxruntime
        self.ort.set_default_logger_severity(4)

    def load(self, model):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        return self.ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, session, values):
        if all(isinstance(p, onnx.TensorProto) and p.data_type != onnx.TensorProto.STRING for p in values.values()):
            # Outputs stay inside the runtime: its Python interface cannot hand out every type that it can compute.
            session.run_with_ort_values(None, {name: self.ort_value(proto) for name, proto in values.items()})
        else:
            session.run(None, {n: self.array(p) if isinstance(p, onnx.TensorProto) else python_value(p) for n, p in values.items()})

    def compute(self, session, values):
        return session.run(None, {n: self.array(p) for n, p in values.items()})[0]

    def array(self, proto):
        if proto.data_type not in NUMPY and proto.data_type != onnx.TensorProto.STRING:
            raise NotFeedable(onnx.TensorProto.DataType.Name(proto.data_type))
        return numpy_helper.to_array(proto)

    def ort_value(self, proto):
        if proto.data_type in NUMPY:
            return self.ort.OrtValue.ortvalue_from_numpy(numpy_helper.to_array(proto))
        if proto.data_type in PACKED:
            raise NotFeedable(onnx.TensorProto.DataType.Name(proto.data_type))
        array = numpy_helper.to_array(proto)
        bits = array.view({1: np.uint8, 2: np.uint16}[array.dtype.itemsize])
        try:
            return self.ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, proto.data_type)
        except RuntimeError as fault:
            raise NotFeedable(str(fault)) from fault

    def reason(self, message):
        """The part of an error that says why, without codes, names of values and source lines."""
        text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", message).splitlines()[0]
        text = re.sub(r"^(Load model from .*? failed:|Exception during (initialization|loading): |Fatal error: |This is an invalid model\. )+", "", text)
        text = re.sub(r"Non-zero status code returned while running \w+ node\. Name:'[^']*' Status Message: ", "", text)
        text = re.sub(r"^\S*/onnxruntime/\S+:\d+ ", "", text)
        text = re.sub(r"^.*(?:\)|\]|const) (?=\S.* was false)", "", text)  # the signature of the C++ function that checks
        text = re.sub(r"^In Node, .*, Error ", "", text)
        text = re.sub(r", inferred types: .*", "", text)  # in an order that changes from run to run
        return re.sub(r"Could not find an implementation for (\w+)\(\d+\) node with name '.*'", r"no kernel for \1", text)

    def kernels(self):
        """(operator, domain, first, last version, {constraint: types}) of the kernels that the package registers for the CPU."""
        from onnxruntime.capi import onnxruntime_pybind11_state as state

        for kernel in state.get_all_opkernel_def():
            if kernel.provider == "CPUExecutionProvider":
                first, last = kernel.version_range
                yield kernel.op_name, kernel.domain, first, last, dict(kernel.type_constraints)


class OpenVino:
    package = "openvino"
    about = "OpenVINO, CPU device"
    native_domains = ()
    foreign_domains = ("com.microsoft",)  # it has rules for some of their operators

    def __init__(self):
        import openvino

        self.ov = openvino
        self.core = openvino.Core()

    def load(self, model):
        return self.core.compile_model(self.core.read_model(model), "CPU", {"INFERENCE_NUM_THREADS": 1})

    def run(self, compiled, values):
        request = compiled.create_infer_request()
        same_count = len(values) == len(compiled.inputs)
        for port, by_place in zip(compiled.inputs, values.values() if same_count else [None] * len(compiled.inputs)):
            # An input that is passed on to an output has the output's name only.
            proto = next((values[name] for name in port.get_names() if name in values), by_place)
            if not isinstance(proto, onnx.TensorProto):
                raise NotFeedable("input that is no tensor")
            request.set_tensor(port, self.tensor(proto, port.get_element_type()))
        request.infer()

    def compute(self, compiled, values):
        return next(iter(compiled({name: numpy_helper.to_array(proto) for name, proto in values.items()}).values()))

    def tensor(self, proto, element):
        if proto.data_type == onnx.TensorProto.STRING:
            return self.ov.Tensor(numpy_helper.to_array(proto).astype(str))
        array = numpy_helper.to_array(proto)
        data = np.frombuffer(numpy_helper.from_array(array).raw_data, np.uint8)
        try:
            tensor = self.ov.Tensor(element, self.ov.Shape(list(proto.dims)))
            if tensor.byte_size != data.size:
                raise NotFeedable(f"{data.size} bytes for {element}")
            np.frombuffer(tensor.data, np.uint8)[:] = data
        except (RuntimeError, TypeError, ValueError) as fault:
            raise NotFeedable(str(fault)) from fault
        return tensor

    def reason(self, message):
        """The innermost message of a chain of errors, without source lines."""
        missing = re.search(r"No conversion rule found for operations: (.*)", message)
        if missing:  # util:: operators stand for parts of a pattern that was not found around the node
            known = all(name.strip().startswith("util::") for name in missing[1].split(","))
            return "no conversion rule outside of certain patterns" if known else NO_RULE
        text = message.split("with a message:", 1)[-1].split("\nSummary:", 1)[0]
        lines = [line.strip() for line in text.splitlines()]
        told = [line for line in lines if line and not re.match(r"Exception from |Check '|While validating|FrontEnd API failed|Model wasn't fully|Shape inference input shapes", line)]
        told = [line.split(" expected:")[0] for line in told]
        return re.sub(r"'<Node\(\w+\):.*?>'|\(/?[^()]*/[^()]*\.cpp:\d+\)", "", told[0]).strip() if told else "conversion failed"

    def kernels(self):
        return []


RUNTIMES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}
