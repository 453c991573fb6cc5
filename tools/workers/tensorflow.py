"""TensorFlow: a SavedModel, a file of Keras, a frozen graph."""
import os

from _protocol import THREADS, Backend, Model, import_runtime, number, option, serve
from _values import STRING, Inner, Port, WorkerError, code_of, np


def port_of(name, spec):
    """From a TensorSpec, tensor or KerasTensor."""
    dtype = getattr(spec.dtype, "as_numpy_dtype", spec.dtype)
    return Port(name, code_of(dtype), None if spec.shape is None or getattr(spec.shape, "rank", 0) is None else list(spec.shape))


PASSING = ("Identity", "IdentityN", "StopGradient")


class Function(Model):
    """A function of {name: tensor} to {name: tensor}. `graph_function` makes one with a graph whose inputs are in the order of `inputs`."""

    def __init__(self, tensorflow, options, function, inputs, outputs, graph_function):
        self.tensorflow, self.function, self.inputs, self.outputs = tensorflow, function, inputs, outputs
        self.graph_function = graph_function
        self.device, self.plain = options["device"], options["optimization"] == "none"

    def prepare(self, inputs, outputs):
        self.tensorflow.config.optimizer.set_experimental_options({"disable_meta_optimizer": self.plain})
        with self.tensorflow.device(self.device):
            return {name: self.tensorflow.constant(value) for name, value in inputs.items()}

    def execute(self, prepared, outputs):
        with self.tensorflow.device(self.device):
            raw = self.function(prepared)
        if self.device != "cpu":
            self.tensorflow.test.experimental.sync_devices()
        return raw

    def results(self, raw, outputs):
        return {name: np.asarray(raw[name].numpy()) for name in outputs}

    def inside(self):
        """Of the graph with its variables as constants and its functions inlined."""
        self.frozen = self.graph_function()
        feeds = {tensor.op.name: port.name for tensor, port in zip(self.frozen.inputs, self.inputs)}

        def sources(operation):
            for tensor in operation.inputs:
                if tensor.op.name in feeds:
                    yield feeds[tensor.op.name]
                elif tensor.op.type in PASSING:
                    yield from sources(tensor.op)
                elif tensor.op.type != "Const":
                    yield tensor.name

        return [Inner(tensor.name, operation.type, list(dict.fromkeys(sources(operation))))
                for operation in self.frozen.graph.get_operations() if operation.type not in (*PASSING, "Placeholder", "Const", "NoOp")
                for tensor in operation.outputs if tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_bool]

    def look(self, inputs, names):
        own = {port.name for port in self.outputs}
        graph = self.frozen.graph
        fetches = [graph.get_tensor_by_name(name) for name in names if name not in own]
        prepared = self.prepare(inputs, names)
        with self.tensorflow.device(self.device):
            raw = self.frozen.prune(self.frozen.inputs, fetches)(*[prepared[port.name] for port in self.inputs])
        found = {tensor.name: np.asarray(value.numpy()) for tensor, value in zip(fetches, raw)}
        return found | (self.results(self.execute(prepared, names), [name for name in names if name in own]) if own & set(names) else {})


class TensorFlow(Backend):
    runtime = "TensorFlow"
    formats = ["saved-model", "keras", "frozen-graph"]

    def start(self):
        os.environ["KERAS_BACKEND"] = "tensorflow"
        self.tensorflow = import_runtime("tensorflow", "tensorflow")
        self.version = self.tensorflow.__version__
        self.threads = 0
        self.options = {
            "device": option("where the model runs", "cpu", self.devices),
            "threads": THREADS,
            "optimization": option("rewriting of the graph", "default", ["default", "none"]),
            "signature": option("which function of a SavedModel", "serving_default"),
        }
        if self.tensorflow.config.list_physical_devices("GPU"):
            self.devices = self.options["device"]["values"] = ["cpu", "gpu"]
            self.options["tf32"] = option("matrix products and convolutions in TF32", "on", ["on", "off"])

    def load(self, path, format, options):
        self.set_threads(number(options, "threads"))
        if "tf32" in options:
            self.tensorflow.config.experimental.enable_tensor_float_32_execution(options["tf32"] == "on")
        load = {"saved-model": self.saved, "keras": self.keras, "frozen-graph": self.frozen}[format]
        with self.tensorflow.device(options["device"]):
            return Function(self.tensorflow, options, *load(path, options))

    def set_threads(self, threads):
        if threads == self.threads:
            return
        try:
            self.tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
            self.threads = threads
        except RuntimeError:
            raise WorkerError("unsupported", f"TensorFlow keeps the {self.threads} threads of the first model (0: its own choice)") from None

    def saved(self, path, options):
        try:
            model = self.tensorflow.saved_model.load(path)
        except AttributeError:  # an object with parts that this version does not know, such as the optimizer of an older Keras: the graph is enough
            model = import_runtime("tensorflow.python.saved_model.load_v1_in_v2").load(path, ["serve"])
        name = options["signature"]
        if name not in model.signatures:
            raise WorkerError("unsupported", f"the SavedModel has no signature '{name}'; it has {', '.join(model.signatures) or 'none'}")
        signature = model.signatures[name]
        inputs = [port_of(name, spec) for name, spec in signature.structured_input_signature[1].items()]
        outputs = [port_of(name, spec) for name, spec in signature.structured_outputs.items()]

        def function(values, keep=model):  # the variables live as long as the model
            return signature(**values)

        # Inputs of the graph are in the order of the signature's keywords.
        keywords = list(signature._arg_keywords)
        inputs.sort(key=lambda port: keywords.index(port.name))
        return function, inputs, outputs, lambda: self.constant_variables(signature)

    def constant_variables(self, function):
        """The function with its variables as constants."""
        convert = import_runtime("tensorflow.python.framework.convert_to_constants").convert_variables_to_constants_v2
        return convert(function)

    def keras(self, path, options):
        model = self.tensorflow.keras.models.load_model(path, compile=False, safe_mode=not self.trusts)
        flatten, pack = self.tensorflow.nest.flatten, self.tensorflow.nest.pack_sequence_as
        inputs = [port_of(tensor.name.split(":")[0], tensor) for tensor in flatten(model.inputs)]
        tensors = flatten(model.outputs)
        names = [f"output_{place}" for place in range(len(tensors))]
        run = self.tensorflow.function(lambda arguments: model(arguments, training=False))
        structure = getattr(model, "_inputs_struct", None)
        if structure is None:
            structure = model.inputs if len(inputs) > 1 else model.inputs[0]

        def function(values):
            raw = run(pack(structure, [values[port.name] for port in inputs]))
            return dict(zip(names, flatten(raw)))

        specs = [self.tensorflow.TensorSpec(tensor.shape, tensor.dtype) for tensor in flatten(model.inputs)]
        return (function, inputs, [port_of(name, tensor) for name, tensor in zip(names, tensors)],
                lambda: self.constant_variables(run.get_concrete_function(pack(structure, specs))))

    def frozen(self, path, options):
        v1, graph = self.tensorflow.compat.v1, self.tensorflow.compat.v1.GraphDef()
        with open(path, "rb") as file:
            graph.ParseFromString(file.read())
        wrapped = v1.wrap_function(lambda: v1.import_graph_def(graph, name=""), [])
        operations = wrapped.graph.get_operations()
        feeds = [item.outputs[0] for item in operations if item.type == "Placeholder"]
        # Of a node that something reads, other outputs are left over: states of a loop, statistics of a normalization.
        # Nodes of a branch of TensorFlow 1 depend on an Identity of a Switch without reading it.
        def computes(item):
            return item.type not in ("Placeholder", "Const") and not (item.type == "Identity" and item.inputs[0].op.type == "Switch")

        unread = [item for item in operations if computes(item) and not any(tensor.consumers() for tensor in item.outputs)]
        fetches = [tensor for item in unread for tensor in item.outputs]
        if not fetches:
            raise WorkerError("unsupported", "the graph has no outputs")
        pruned = wrapped.prune(feeds, fetches)

        def function(values):
            raw = pruned(*[values[tensor.name] for tensor in feeds])
            return {tensor.name: value for tensor, value in zip(fetches, raw)}

        return (function, [port_of(tensor.name, tensor) for tensor in feeds], [port_of(tensor.name, tensor) for tensor in fetches],
                lambda: pruned)

    def kind_of(self, error):
        errors = self.tensorflow.errors
        if isinstance(error, errors.ResourceExhaustedError):
            return "memory"
        return "unsupported" if isinstance(error, (errors.UnimplementedError, errors.NotFoundError)) else None


serve(TensorFlow())
