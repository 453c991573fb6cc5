"""PyTorch: files of torch.export and of TorchScript, and ONNX through onnx2torch."""
import contextlib
import json
import zipfile

from _protocol import THREADS, Backend, Model, import_runtime, number, option, serve
from _onnx import ports_of
from _untrusted import data_only
from _values import ML_DTYPES, NUMPY, STRING, Inner, Port, WorkerError, code_of, dtype_of, np

# Names of types in torch that are not those of numpy and ml_dtypes.
RENAMED = {"float8_e8m0fnu": 24}
TYPE_NAMES = {name: code for table in (NUMPY, ML_DTYPES) for code, name in table.items()} | RENAMED
# Packages that register operators of their own, by how programs name these.
LIBRARIES = {b"ops.torchvision.": "torchvision", b"ops.transformers.": "transformers.integrations.moe"}
PRECISIONS = {"f16": "float16", "bf16": "bfloat16"}


def type_code(dtype):
    """The ONNX number of a torch type; None: it has none."""
    return TYPE_NAMES.get(str(dtype).removeprefix("torch."))


def import_libraries(path):
    """The packages whose operators a file calls."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        texts = [archive.read(entry) for entry in archive.namelist() if entry.endswith((".json", ".py"))]
    for name, module in LIBRARIES.items():
        if any(name in text for text in texts):
            import_runtime(module, module.partition(".")[0])


class Module(Model):
    """A module and the tree of its arguments, as a function of a list of inputs to a list of outputs."""

    def __init__(self, torch, settings, options, function, inputs, outputs):
        self.torch, self.settings, self.function, self.inputs, self.outputs = torch, settings, function, inputs, outputs
        self.onednn = options["onednn"] == "on"
        self.device, self.precision = options["device"], PRECISIONS.get(options["precision"])
        # Without oneDNN, convolutions of batches from 16 on go through NNPACK, which takes Winograd's method.
        full = "float32" if self.onednn else "winograd"
        self.arithmetic = self.precision or (full if self.device == "cpu" else None)

    def prepare(self, inputs, outputs):
        self.settings()
        return [self.to_torch(inputs[port.name]) for port in self.inputs if port.name in inputs]

    def execute(self, prepared, outputs):
        return self.in_mode(lambda: self.function(prepared))

    def in_mode(self, run):
        """What `run` returns in the arithmetic that the options ask for, when the device has finished."""
        torch = self.torch
        autocast = torch.autocast(self.device, getattr(torch, self.precision)) if self.precision else contextlib.nullcontext()
        with torch.inference_mode(), autocast, self.torch.backends.mkldnn.flags(enabled=self.onednn):
            raw = run()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return raw

    def device_bytes(self):
        return self.torch.cuda.max_memory_reserved() if self.device == "cuda" else None

    def results(self, raw, outputs):
        ports = self.outputs
        if len(raw) != len(ports):
            ports = list({port.name: port for port in ports}.values())  # a value that is listed twice may come once
        if len(raw) != len(ports):
            raise WorkerError("failed", f"the module returned {len(raw)} outputs, but declares {len(self.outputs)}")
        return {port.name: self.to_numpy(self.widened(value, port)) for port, value in zip(ports, raw)}

    def widened(self, value, port):
        """In the type that the model declares, where autocast left a shorter one."""
        shortened = self.precision and getattr(value, "dtype", None) == getattr(self.torch, self.precision)
        return value.float() if shortened and port.type != type_code(value.dtype) else value

    def to_torch(self, value):
        """A copy: modules may write into their arguments."""
        if isinstance(value, list):
            return [self.to_torch(item) for item in value]
        if value is None:
            return None
        code = code_of(value.dtype)
        if code == STRING:
            raise WorkerError("unsupported", "PyTorch has no strings")
        if code not in ML_DTYPES:
            return self.torch.from_numpy(value.copy()).to(self.device)
        names = [name for name, number in TYPE_NAMES.items() if number == code and hasattr(self.torch, name)]
        if not names or value.dtype.itemsize > 2 or code in (21, 22, 23, 25, 26):
            raise WorkerError("unsupported", f"PyTorch has no {value.dtype}")
        bits = value.copy().view(np.int16 if value.dtype.itemsize == 2 else np.uint8)
        return self.torch.from_numpy(bits).view(getattr(self.torch, names[0])).to(self.device)

    def to_numpy(self, value):
        if isinstance(value, (list, tuple)):
            return [self.to_numpy(item) for item in value]
        if not isinstance(value, self.torch.Tensor):
            return value if value is None else np.asarray(value)
        code, value = type_code(value.dtype), value.detach().cpu().contiguous()
        if code is None:
            raise WorkerError("unsupported", f"{value.dtype} has no ONNX element type")
        if code in NUMPY:
            return value.resolve_conj().resolve_neg().numpy()
        bits = self.torch.int16 if value.element_size() == 2 else self.torch.uint8
        return value.view(bits).numpy().view(dtype_of(code))


class Exported(Module):
    """A program of torch.export, whose graph can be run node by node."""

    def __init__(self, graph_module, *args):
        super().__init__(*args)
        self.graph_module = graph_module

    def is_tensor(self, node):
        return isinstance(node.meta.get("val"), self.torch.Tensor)

    def inside(self):
        nodes = self.graph_module.graph.nodes
        placeholders = dict(zip([node for node in nodes if node.op == "placeholder"], self.inputs))
        made_from = {}  # of each node the names of inputs and tensors; a tuple stands for what it is made from

        for node in nodes:
            names = []
            for other in node.all_input_nodes:
                if other in placeholders:
                    names.append(placeholders[other].name)
                elif other.op == "call_function":
                    names += [other.name] if self.is_tensor(other) else made_from[other]
            made_from[node] = list(dict.fromkeys(names))
        return [Inner(node.name, str(node.target), made_from[node]) for node in nodes
                if node.op == "call_function" and self.is_tensor(node)]

    def look(self, inputs, names):
        prepared, wanted, found = self.prepare(inputs, names), set(names), {}
        to_numpy = self.to_numpy

        class Looking(self.torch.fx.Interpreter):
            def run_node(self, node):
                value = super().run_node(node)
                if node.name in wanted and node.op == "call_function":
                    found[node.name] = to_numpy(value).copy()  # later nodes may write into it
                return value

        looking = Looking(self.graph_module)
        raw = self.in_mode(lambda: looking.run(*prepared, enable_io_processing=False))
        outputs = self.torch.utils._pytree.tree_flatten(raw)[0]
        return self.results(outputs, names) | found


def port_of_fake(name, value):
    """From the example value that torch.export keeps."""
    if not hasattr(value, "dtype"):
        return Port(name, {bool: 9, int: 7, float: 11}.get(type(value)), [])
    return Port(name, type_code(value.dtype), [size if isinstance(size, int) else None if len(str(size)) > 32 else str(size) for size in value.shape])


def structure_in(options, name):
    """The containers of inputs or outputs, with names in the places of tensors; None: there are none."""
    try:
        return json.loads(options[name]) if options[name] else None
    except ValueError:
        raise WorkerError("invalid", f"option {name} is not JSON") from None


def is_value(tree):
    """Whether it stands for a value that is no tensor: {"=": 8000}."""
    return isinstance(tree, dict) and list(tree) == ["="]


def leaves_of(tree):
    """What is in containers, in its order."""
    if is_value(tree):
        return []
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, (list, tuple)):
        return [] if tree is None else [tree]
    return [leaf for part in tree for leaf in leaves_of(part)]


def filled(type, tree, values):
    """An argument of this TorchScript type, whose tensors are the next of the values."""
    if is_value(tree):
        return tree["="]
    kind = type.kind()
    if kind == "OptionalType":
        return filled(type.getElementType(), tree, values)
    if kind == "TupleType":
        return tuple(filled(part, each, values) for part, each in zip(type.elements(), tree))
    if kind == "ListType":
        return [filled(type.getElementType(), each, values) for each in tree]
    if kind == "DictType":
        return {key: filled(type.getValueType(), each, values) for key, each in tree.items()}
    return next(values)


RESULTS = ("TensorType", "ListType", "IntType", "FloatType", "BoolType")


class Attributes:
    """What a TorchScript module keeps from call to call: a run begins with what is given, and leaves the module as it was."""

    def __init__(self, torch, module, given, changed):
        self.torch, self.module, self.given = torch, module, given
        self.changed = [path for path in changed if self.has(path)]
        self.stored = {path: self.get(path) for path in [*given, *self.changed]}
        self.stored = {path: value.clone() if torch.is_tensor(value) else value for path, value in self.stored.items()}
        self.inputs = [name for name in given.values() if not is_value(name)]

    def owner(self, path):
        *outer, name = path.split(".")
        module = self.module
        for part in outer:
            module = getattr(module, part)
        return module, name

    def has(self, path):
        try:
            return self.torch.is_tensor(self.get(path))
        except AttributeError:
            return False

    def get(self, path):
        module, name = self.owner(path)
        return getattr(module, name)

    def set(self, path, value):
        module, name = self.owner(path)
        setattr(module, name, value.clone() if self.torch.is_tensor(value) else value)

    def begin(self, values):
        for path, value in self.stored.items():
            self.set(path, value)
        for path, given in self.given.items():
            self.set(path, given["="] if is_value(given) else next(values))

    def end(self):
        return [self.get(path).clone() for path in self.changed]


class Torch(Backend):
    runtime = "PyTorch"

    def start(self):
        self.torch = import_runtime("torch")
        self.version = self.torch.__version__
        self.formats = ["torch-export", "torchscript"]
        self.options = {
            "device": option("where the model runs", "cpu", self.devices),
            "threads": THREADS,
            "precision": option("autocast to a shorter type", "default", ["default", *PRECISIONS]),
            "inputs": option("containers that hold the inputs of a TorchScript module, as source_inputs in a converted model's metadata", ""),
            "outputs": option("the same of outputs, as source_outputs", ""),
            "attributes": option("attributes of a TorchScript module that are given values or inputs, as source_attributes", ""),
            "changes": option("attributes whose content behind a run is an output, as source_changes", ""),
            "onednn": option("oneDNN's kernels on the CPU; off: PyTorch's own and NNPACK's", "on", ["on", "off"]),
        }
        self.own_threads = self.torch.get_num_threads()
        if self.torch.cuda.is_available():
            self.own_tf32 = self.torch.backends.cuda.matmul.allow_tf32, self.torch.backends.cudnn.allow_tf32
            self.devices = self.options["device"]["values"] = ["cpu", "cuda"]
            self.options["tf32"] = option("matrix products and convolutions in TF32", "default", ["default", "on", "off"])
        try:
            self.onnx, self.onnx2torch = import_runtime("onnx"), import_runtime("onnx2torch")
            self.formats = [*self.formats, "onnx"]
        except WorkerError:  # then onnx is none of the formats
            pass

    def load(self, path, format, options):
        settings = self.settings(options)
        import_libraries(path)
        if format == "torch-export":
            graph_module, *ports = self.exported(path, options["device"])
            return Exported(graph_module, self.torch, settings, options, *ports)
        if format == "torchscript":
            loaded = self.scripted(path, options)
        else:
            loaded = self.converted(path, options["device"])
        return Module(self.torch, settings, options, *loaded)

    def settings(self, options):
        """A function that sets what PyTorch keeps for the whole process."""
        torch, threads, tf32 = self.torch, number(options, "threads") or self.own_threads, options.get("tf32")

        def apply():
            torch.set_num_threads(threads)
            if tf32 is not None:
                matmul, cudnn = self.own_tf32 if tf32 == "default" else (tf32 == "on", tf32 == "on")
                torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = matmul, cudnn

        return apply

    def exported(self, path, device):
        with contextlib.nullcontext() if self.trusts else data_only(self.torch):
            program = self.torch.export.load(path)
        if device != "cpu":
            program = self.torch.export.passes.move_to_device_pass(program, device)
        tree, module = self.torch.utils._pytree, program.module()
        values = {node.name: node.meta.get("val") for node in program.graph.nodes}
        signature, constant = program.graph_signature, self.torch.export.graph_signature.ConstantArgument
        if not all(isinstance(name, str) for name in signature.user_outputs):
            raise WorkerError("unsupported", "the program has constants among its outputs")
        spec, given = program.call_spec.in_spec, [one.arg for one in signature.input_specs if one.kind.name == "USER_INPUT"]

        def function(inputs):
            inputs = iter(inputs)
            leaves = [one.value if isinstance(one, constant) else next(inputs) for one in given]
            args, kwargs = tree.tree_unflatten(leaves, spec)
            return tree.tree_flatten(module(*args, **kwargs))[0]

        names = [one.name for one in given if not isinstance(one, constant)]
        return (module, function, [port_of_fake(name, values[name]) for name in names],
                [port_of_fake(name, values[name]) for name in signature.user_outputs])

    def is_state_dict(self, path):
        try:
            return isinstance(self.torch.load(path, map_location="cpu", weights_only=True), dict)
        except Exception:  # whatever else it is, the error of TorchScript tells more
            return False

    def scripted(self, path, options):
        given, returned_as = structure_in(options, "inputs"), structure_in(options, "outputs")
        try:
            module = self.torch.jit.load(path, map_location=options["device"]).eval()
        except RuntimeError:
            if self.is_state_dict(path):
                raise WorkerError("unsupported", "the file contains weights without a network (a state dict): save the network with torch.export or torch.jit") from None
            raise
        forward = module.forward if hasattr(module, "forward") else module.forward__0  # the first of its overloads
        schema, inputs = forward.schema, [Port(name) for name in leaves_of(given)]
        for argument in schema.arguments[1:] if given is None else []:
            text = str(argument.type)
            if text in ("Tensor", "Optional[Tensor]", "List[Tensor]"):
                inputs.append(Port(argument.name, kind="sequence" if text.startswith("List") else "tensor", optional=argument.has_default_value()))
            elif not argument.has_default_value():
                raise WorkerError("unsupported", f"argument '{argument.name}' is a {text}")
        returned = schema.returns[0].type
        parts = returned.elements() if returned.kind() == "TupleType" else [returned]
        outputs = [Port(f"output_{place}", kind="sequence" if part.kind() == "ListType" else "tensor") for place, part in enumerate(parts)]
        if returned_as is not None:
            outputs = [Port(name) for name in leaves_of(returned_as)]
        elif any(str(part) != "Optional[Tensor]" and part.kind() not in RESULTS for part in parts):
            raise WorkerError("unsupported", f"the module returns {returned}")

        changes = [name for name in (options.get("changes") or "").split(",") if name]
        attributes = Attributes(self.torch, module, structure_in(options, "attributes") or {}, changes)
        arguments = len(inputs)
        inputs += [Port(name) for name in attributes.inputs]
        outputs += [Port(f"{name}.next") for name in attributes.changed]

        def function(values):
            attributes.begin(iter(values[arguments:]))
            if given is None:
                raw = forward(*values[:arguments])
            else:
                values, places = iter(values), zip(schema.arguments[1:], given["args"])
                raw = forward(**{argument.name: filled(argument.type, tree, values) for argument, tree in places if tree is not None})
            if returned_as is not None:
                raw = leaves_of(raw)
            else:
                raw = list(raw) if returned.kind() == "TupleType" else [raw]
            return [self.as_tensor(value) for value in raw] + attributes.end()

        return function, inputs, outputs

    def as_tensor(self, value):
        """Of a number that the module returns."""
        return self.torch.tensor(value, dtype=self.torch.float64 if isinstance(value, float) else None) if isinstance(value, (bool, int, float)) else value

    def converted(self, path, device):
        proto = self.onnx.load(path)
        module = self.onnx2torch.convert(proto).to(device).eval()
        inputs, outputs = ports_of(proto)

        def function(values):
            raw = module(*values)
            return list(raw) if isinstance(raw, (list, tuple)) and len(outputs) > 1 else [raw]

        return function, [port for port in inputs if not port.optional], outputs

    def kind_of(self, error):
        if isinstance(error, self.torch.cuda.OutOfMemoryError) or "can't allocate memory" in str(error):
            return "memory"
        return "unsupported" if "not implemented for" in str(error) or "PytorchStreamReader" in str(error) else None


serve(Torch())
