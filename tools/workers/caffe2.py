"""Caffe2, as far as an older PyTorch has it: a folder with init_net.pb and predict_net.pb, or ONNX through its own importer."""
import os

from _protocol import Backend, Model, import_runtime, serve
from _onnx import ports_of
from _values import Port, WorkerError, np


class Net(Model):
    """A net in a workspace of its own."""

    def __init__(self, workspace, name, initial, predict):
        self.workspace, self.name, self.net = workspace, name, predict.name
        made = {blob for operation in initial.op for blob in operation.output}
        self.inputs = [Port(blob) for blob in predict.external_input if blob not in made]
        self.outputs = [Port(blob) for blob in predict.external_output]
        workspace.SwitchWorkspace(name, True)
        workspace.RunNetOnce(initial)
        for port in self.inputs:  # CreateNet wants every blob
            workspace.FeedBlob(port.name, np.zeros(1, np.float32))
        workspace.CreateNet(predict)

    def prepare(self, inputs, outputs):
        self.workspace.SwitchWorkspace(self.name)
        for name, value in inputs.items():
            self.workspace.FeedBlob(name, value)

    def execute(self, prepared, outputs):
        if not self.workspace.RunNet(self.net):
            raise RuntimeError("RunNet failed; see the log")

    def results(self, raw, outputs):
        return {name: np.asarray(self.workspace.FetchBlob(name)) for name in outputs}


class Imported(Model):
    """What the ONNX importer makes; its `run` feeds, runs and fetches."""

    def __init__(self, prepared, proto):
        self.prepared = prepared
        inputs, self.outputs = ports_of(proto)
        self.inputs = [port for port in inputs if not port.optional]

    def prepare(self, inputs, outputs):
        return [inputs[port.name] for port in self.inputs]

    def execute(self, prepared, outputs):
        return self.prepared.run(prepared)

    def results(self, raw, outputs):
        return {port.name: np.asarray(value) for port, value in zip(self.outputs, raw)}


class Caffe2(Backend):
    runtime = "Caffe2"
    formats = ["caffe2"]

    def start(self):
        self.workspace = import_runtime("caffe2.python.workspace", "'torch<1.11'")
        self.messages = import_runtime("caffe2.proto.caffe2_pb2")
        self.version = import_runtime("torch").__version__
        self.loaded = 0
        try:
            self.onnx, self.importer = import_runtime("onnx"), import_runtime("caffe2.python.onnx.backend")
            self.formats = ["caffe2", "onnx"]
        except WorkerError:  # then onnx is none of the formats
            pass

    def load(self, path, format, options):
        self.loaded += 1
        if format == "onnx":
            proto = self.onnx.load(path)
            return Imported(self.importer.prepare(proto, device="CPU"), proto)
        initial, predict = (self.net(os.path.join(path, name)) for name in ("init_net.pb", "predict_net.pb"))
        return Net(self.workspace, f"model{self.loaded}", initial, predict)

    def net(self, path):
        net = self.messages.NetDef()
        with open(path, "rb") as file:
            net.ParseFromString(file.read())
        return net

    def kind_of(self, error):
        return "unsupported" if "Don't know how to translate op" in str(error) or "Cannot create operator" in str(error) else None


serve(Caffe2())
