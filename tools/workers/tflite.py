"""TFLite, by LiteRT or by the interpreter inside TensorFlow."""
import collections

from _protocol import THREADS, Backend, Model, import_runtime, number, option, serve
from _values import Inner, Port, WorkerError, code_of, np


def port_of(name, details):
    shape = details.get("shape_signature", ())
    shape = details["shape"] if len(shape) != len(details["shape"]) else shape
    return Port(name, code_of(details["dtype"]), [int(size) if size >= 0 else None for size in shape])


def lacks_operator(error):
    return any(words in str(error) for words in ("unresolved", "custom op", "Didn't find op"))


class Interpreted(Model):
    arithmetic = "float32"

    def __init__(self, interpreter, keeping):
        self.interpreter, self.keeping = interpreter, keeping
        self.is_allocated = self.allocates_as_declared()
        self.names = self.signature_names()
        self.details = interpreter.get_input_details(), interpreter.get_output_details()
        named = [list(self.named(*side)) for side in zip(self.details, self.names)]
        self.inputs, self.outputs = ([port_of(name, details) for name, details in side] for side in named)
        self.places = [{name: details["index"] for name, details in side} for side in named]

    def allocates_as_declared(self):
        """Open sizes are 1 until a run gives others; not every model can have that."""
        try:
            self.interpreter.allocate_tensors()
        except RuntimeError as error:
            is_open = any(-1 in details.get("shape_signature", ()) for details in self.interpreter.get_input_details())
            if not is_open or lacks_operator(error):
                raise
            return False
        return True

    @staticmethod
    def named(side, names):
        """Ports with their names, in order. Outputs that are one tensor have the names of that in turn."""
        turns = collections.Counter()
        for details in side:
            place = details["index"]
            known = names.get(place, [])
            yield known[turns[place]] if turns[place] < len(known) else details["name"], details
            turns[place] += 1

    def signature_names(self):
        """The names that the file's only signature gives to inputs and to outputs, by the tensor's index: those that the model had before its
        conversion."""
        names = [collections.defaultdict(list), collections.defaultdict(list)]
        signatures = self.interpreter.get_signature_list()
        if len(signatures) != 1:
            return names
        runner = self.interpreter.get_signature_runner(next(iter(signatures)))
        for of_side, side in zip(names, (runner.get_input_details(), runner.get_output_details())):
            for name, details in side.items():
                of_side[details["index"]].append(name)
        return names

    def prepare(self, inputs, outputs):
        is_ready = self.is_allocated
        for name, details in self.named(self.interpreter.get_input_details(), self.names[0]):
            value = inputs[name]
            if list(details["shape"]) != list(value.shape):
                self.interpreter.resize_tensor_input(details["index"], value.shape)
                is_ready = False
        if not is_ready:
            self.is_allocated = False
            self.interpreter.allocate_tensors()
            self.is_allocated = True
        for name, value in inputs.items():
            self.interpreter.set_tensor(self.places[0][name], value)

    def execute(self, prepared, outputs):
        self.interpreter.invoke()

    def results(self, raw, outputs):
        return {name: np.asarray(self.interpreter.get_tensor(self.places[1][name])) for name in outputs}

    def inside(self):
        """By an interpreter without delegates, which keeps all tensors."""
        self.kept = Interpreted(self.keeping(), None)
        details = {item["index"]: item for item in self.kept.interpreter.get_tensor_details()}
        names = {place: name for name, place in self.places[0].items()}  # of inputs and of what operators write
        self.quantized, values = {}, []
        for operator in self.kept.interpreter._get_ops_details():
            made_from = [names[place] for place in operator["inputs"] if place in names]
            for place in operator["outputs"]:
                if place not in details:
                    continue
                name = details[place]["name"] or str(place)
                names[place] = name if name not in self.quantized else f"{name}:{place}"
                self.quantized[names[place]] = place, details[place]["quantization_parameters"]
                values.append(Inner(names[place], operator["op_name"], list(dict.fromkeys(made_from))))
        return values

    def look(self, inputs, names):
        self.kept.prepare(inputs, names)
        self.kept.interpreter.invoke()
        own = [name for name in names if name not in self.quantized]
        return self.kept.results(None, own) | {name: self.inner_value(*self.quantized[name]) for name in names if name in self.quantized}

    def inner_value(self, place, quantization):
        """What a quantized tensor stands for."""
        value, scales = np.asarray(self.kept.interpreter.get_tensor(place)), quantization["scales"]
        if not len(scales) or value.dtype.kind not in "iu":
            return value.copy()
        along = [1] * value.ndim
        if len(scales) > 1:
            along[quantization["quantized_dimension"]] = -1
        real = (value.astype(np.float64) - quantization["zero_points"].reshape(along if len(scales) > 1 else [])) * scales.reshape(along if len(scales) > 1 else [])
        return real.astype(np.float32)


class TfLite(Backend):
    runtime = "TFLite"
    formats = ["tflite"]
    options = {"threads": THREADS, "xnnpack": option("the delegate for float on CPUs", "on", ["on", "off"])}

    def start(self):
        try:
            self.module = import_runtime("ai_edge_litert.interpreter", "ai-edge-litert")
            self.version = import_runtime("ai_edge_litert").__version__
            self.runtime = "LiteRT"
        except WorkerError as missing:
            try:
                tensorflow = import_runtime("tensorflow")
                self.module, self.version = import_runtime("tensorflow.lite.python.interpreter"), tensorflow.__version__
            except WorkerError:
                raise missing from None

    def load(self, path, format, options):
        resolvers = self.module.OpResolverType
        resolver = resolvers.AUTO if options["xnnpack"] == "on" else resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        threads = number(options, "threads") or None

        def keeping():
            return self.module.Interpreter(path, num_threads=threads, experimental_preserve_all_tensors=True,
                                           experimental_op_resolver_type=resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES)

        return Interpreted(self.module.Interpreter(path, num_threads=threads, experimental_op_resolver_type=resolver), keeping)

    def kind_of(self, error):
        return "unsupported" if lacks_operator(error) else None


serve(TfLite())
