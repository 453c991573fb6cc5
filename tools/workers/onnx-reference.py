"""The onnx package's ReferenceEvaluator."""
from _protocol import Backend, Model, import_runtime, serve
from _values import Port


def port_of(value, optional=False):
    """From a ValueInfoProto."""
    proto, kind = value.type, value.type.WhichOneof("value")
    kind = (kind or "tensor_type").removesuffix("_type")
    while proto.WhichOneof("value") in ("sequence_type", "optional_type"):
        proto = getattr(proto, proto.WhichOneof("value")).elem_type
    if proto.HasField("map_type"):
        return Port(value.name, None, None, kind, optional, map_type=proto.map_type.value_type.tensor_type.elem_type)
    tensor = proto.tensor_type
    shape = None
    if kind == "tensor" and tensor.HasField("shape"):
        shape = [size.dim_value if size.HasField("dim_value") else size.dim_param or None for size in tensor.shape.dim]
    return Port(value.name, tensor.elem_type or None, shape, kind, optional)


class Evaluated(Model):
    def __init__(self, evaluator, graph, overridable):
        self.evaluator = evaluator
        initial = {tensor.name for tensor in graph.initializer} | {tensor.values.name for tensor in graph.sparse_initializer}
        self.inputs = [port_of(value, value.name in initial) for value in graph.input if overridable or value.name not in initial]
        self.outputs = [port_of(value) for value in graph.output]

    def execute(self, prepared, outputs):
        return self.evaluator.run(outputs, prepared)

    def results(self, raw, outputs):
        return dict(zip(outputs, raw))


class OnnxReference(Backend):
    runtime = "onnx ReferenceEvaluator"

    def start(self):
        self.onnx = import_runtime("onnx")
        self.evaluator = import_runtime("onnx.reference", "onnx").ReferenceEvaluator
        self.version = self.onnx.__version__
        self.opsets = {"": self.onnx.defs.onnx_opset_version()}

    def load(self, path, format, options):
        proto = self.onnx.load(path)
        return Evaluated(self.evaluator(proto), proto.graph, proto.ir_version >= 4)


serve(OnnxReference())
