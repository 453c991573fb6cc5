"""Apache TVM: models compiled by Relax and LLVM for the processor of this machine, once for each set of input sizes."""
from _onnx import ports_of
from _protocol import THREADS, Backend, Model, import_runtime, number, option, serve
from _values import STRING, WorkerError, np

BIG_CORES = 1  # of runtime.config_threadpool: threads go to the fastest processors first


def is_lack(error):
    """Whether an operator is missing in TVM."""
    return type(error).__name__ == "OpNotImplemented"


class Compiled(Model):
    arithmetic = "float32"

    def __init__(self, backend, proto, target):
        self.backend, self.proto, self.target = backend, proto, target
        inputs, self.outputs = ports_of(proto)
        # Initializers become constants, those that a caller may replace, too.
        self.inputs = [port for port in inputs if not port.optional]
        for port in self.inputs + self.outputs:
            if port.kind != "tensor" or port.type == STRING:
                raise WorkerError("unsupported", f"TVM has tensors of numbers only: '{port.name}' has the kind {'string' if port.kind == 'tensor' else port.kind}")
        replaced = [port.name for port in inputs if port.optional]
        self.warnings = [f"initializers that are inputs keep their values: {', '.join(map(repr, replaced))}"] if replaced else []
        self.machines = {}
        if all(isinstance(size, int) for port in self.inputs for size in port.shape or [None]):
            self.machine([tuple(port.shape) for port in self.inputs])
        else:
            self.check_operators()

    def check_operators(self):
        """Before anything runs; what it cannot make of open sizes does not count, as those of a run are known."""
        try:
            self.converted({})
        except Exception as error:
            if is_lack(error):
                raise

    def converted(self, shapes):
        from tvm.relax.frontend.onnx import from_onnx
        return from_onnx(self.proto, shape_dict=shapes, keep_params_in_input=False, sanitize_input_names=False)

    def machine(self, shapes):
        """What runs the model for inputs of these shapes."""
        key = tuple(shapes)
        if key not in self.machines:
            module = self.converted({port.name: list(shape) for port, shape in zip(self.inputs, shapes)})
            compiled = self.backend.module.compile(module, target=self.target)
            self.machines[key] = self.backend.relax.VirtualMachine(compiled, self.backend.module.cpu())["main"]
        return self.machines[key]

    def prepare(self, inputs, outputs):
        values = [np.array(inputs[port.name]) for port in self.inputs]  # those of a request cannot be written to
        tensors = [self.backend.module.runtime.tensor(value) for value in values]
        return self.machine([value.shape for value in values]), tensors

    def execute(self, prepared, outputs):
        machine, tensors = prepared
        return machine(*tensors)

    def results(self, raw, outputs):
        values = [raw] if hasattr(raw, "numpy") else list(raw)
        by_name = {port.name: value for port, value in zip(self.outputs, values)}
        return {name: by_name[name].numpy() for name in outputs}


class Tvm(Backend):
    runtime = "TVM"

    def start(self):
        self.module = import_runtime("tvm", "apache-tvm")
        self.onnx = import_runtime("onnx")
        from tvm import relax
        self.relax = relax
        self.version = self.module.__version__
        if not self.module.runtime.enabled("llvm"):
            raise WorkerError("unavailable", "this package of TVM has no LLVM, so that it compiles nothing for the processor")
        self.options = {
            "target": option("LLVM's name of the processor to compile for; native: this one, generic: any of its kind", "native"),
            "threads": THREADS,
        }

    def load(self, path, format, options):
        if threads := number(options, "threads"):
            self.module.get_global_func("runtime.config_threadpool")(BIG_CORES, threads)
        return Compiled(self, self.onnx.load(path), self.target_of(options["target"]))

    def target_of(self, name):
        from tvm.target import Target, codegen
        if name == "generic":
            return Target("llvm")
        processor = codegen.llvm_get_system_cpu() if name == "native" else name
        if not codegen.llvm_is_valid_cpu(processor, codegen.llvm_get_system_triple()):
            raise WorkerError("invalid", f"option target: LLVM knows no processor '{processor}'")
        return Target({"kind": "llvm", "mcpu": processor})

    def message_of(self, error):
        """Without the calls that led there."""
        lines = [line for line in str(error).strip().splitlines() if line.strip() and not line.startswith(("Traceback", "  File", "    "))]
        return "\n".join(lines[:4]) or type(error).__name__

    def kind_of(self, error):
        return "unsupported" if is_lack(error) else None


serve(Tvm())
