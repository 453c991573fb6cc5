"""The onnx package's ReferenceEvaluator."""
from _protocol import Backend, Model, import_runtime, serve
from _onnx import ports_of


class Evaluated(Model):
    arithmetic = "float32"

    def __init__(self, evaluator, proto):
        self.evaluator = evaluator
        self.inputs, self.outputs = ports_of(proto)

    def prepare(self, inputs, outputs):
        """Copies: some operators write into their inputs."""
        return {name: value.copy() if hasattr(value, "dtype") else value for name, value in inputs.items()}

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
        return Evaluated(self.evaluator(proto), proto)

    def kind_of(self, error):
        return "unsupported" if "ot implemented" in str(error) or "Unknown activation function" in str(error) else None


serve(OnnxReference())
