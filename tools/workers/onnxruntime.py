"""ONNX Runtime: any execution provider that the installed package has."""
import ctypes
import json
import os
import re
import tempfile
import time

from _protocol import THREADS, Backend, DeviceMemory, Model, import_runtime, number, option, serve
from _values import CODES, ML_DTYPES, PACKED_BITS, STRING, Port, Step, WorkerError, dtype_of, np, unpack

LEVELS = {"none": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}
REMOTE = {"azure"}
# What its own passes put before and behind the name of a node, or of a value that it writes, to name a step. All but two end with a slash, which
# names of nodes do not.
BEFORE, BEHIND = re.compile(r"^(fused |InsertedPrecisionFreeCast_)"), re.compile(r"(_nchwc|_token_[0-9]+|/[A-Za-z0-9]+Fusion/|/MatMulAddFusion|/GatherSliceToSplitFusion)$")
# Operators that run graphs of their own; what else began in the same microsecond as a node is not inside it.
HOLDERS = {"If", "Loop", "Scan", "BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"}


def short(provider):
    return provider.removesuffix("ExecutionProvider").lower()


def port_of(argument, optional=False):
    """From texts such as tensor(float), seq(tensor(int64)), optional(seq(tensor(float))), seq(map(string,tensor(float)))."""
    text = argument.type
    element = text.rsplit("(", 1)[-1].rstrip(")")
    code = CODES.get(element)
    kind = {"tensor": "tensor", "seq": "sequence", "map": "map", "optional": "optional"}.get(text.split("(")[0])
    if kind is None:
        raise WorkerError("unsupported", f"'{argument.name}' is a {text}")
    if "map(" in text:
        return Port(argument.name, None, None, kind, optional, map_type=code)
    # An unknown rank reads like that of a scalar.
    shape = list(argument.shape) if kind == "tensor" and argument.shape else None
    return Port(argument.name, code, shape, kind, optional)


def named_after(name, op):
    """The names of nodes and values that ONNX Runtime may call a step after. What it calls by its operator is no node of the model, nor is a cast that
    it inserted."""
    names = [name]
    while not (op == "Cast" and names[-1].startswith("InsertedPrecisionFreeCast_")):
        shorter = BEHIND.sub("", names[-1])
        shorter = BEFORE.sub("", names[-1]) if shorter == names[-1] else shorter
        if shorter in ("", op, names[-1]):
            break
        names.append(shorter)
    return names


def bytes_of(facts):
    """What a call reads and writes; None where that is not told."""
    sizes = [int(facts[size]) for size in ("activation_size", "parameter_size", "output_size") if size in facts]
    return sum(sizes) if sizes else None


def steps_of(run, nodes):
    """The nodes that ran in a run, once each: those of a subgraph, whose time their node contains, before it and without a place in the main graph."""
    steps, ended = {}, []
    for event in sorted(nodes, key=lambda event: (event["ts"] + event["dur"], -event["ts"])):
        name, facts = event["name"].removesuffix("_kernel_time"), event["args"]
        key, op, inside = (name, facts.get("node_index")), facts.get("op_name", ""), 0
        while ended and (ended[-1][0]["ts"] > event["ts"] or ended[-1][0]["ts"] == event["ts"] and op in HOLDERS):
            inner, inner_key = ended.pop()
            inside += inner["dur"] * 1e-6
            steps[inner_key].covers, steps[inner_key].place = [], None
        ended.append((event, key))
        if key not in steps:
            is_unnamed = name == f"{op}_{key[1]}"  # which ONNX Runtime calls so; it makes weights of Constants before it counts
            steps[key] = Step(name, op, 0, (event["ts"] - run["ts"]) * 1e-6, named_after(name, op), 0, 0, int(key[1]) if is_unnamed else None)
        step, size = steps[key], bytes_of(facts)
        step.seconds += max(event["dur"] * 1e-6 - inside, 0)
        step.bytes = None if size is None or step.bytes is None else step.bytes + size
        step.calls += 1
    return list(steps.values())


def cuda_memory():
    """By CUDA's runtime, which the package links against; None where it is not found."""
    for name in ("libcudart.so.13", "libcudart.so.12"):
        try:
            runtime = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        return None

    def used():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        runtime.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
        return total.value - free.value

    return DeviceMemory(used)


class OrtModel(Model):
    def __init__(self, runtime, session, again=None):
        self.runtime, self.session, self.again = runtime, session, again
        self.inputs = [port_of(argument) for argument in session.get_inputs()]
        self.inputs += [port_of(argument, optional=True) for argument in session.get_overridable_initializers()]
        self.outputs = [port_of(argument) for argument in session.get_outputs()]

    def prepare(self, inputs, outputs):
        ports = {port.name: port for port in self.inputs + self.outputs}
        if any(ports[name].type in ML_DTYPES for name in [*inputs, *outputs]):
            return self.session.run_with_ort_values, {name: self.ort_value(value, ports[name]) for name, value in inputs.items()}
        if all(ports[name].kind == "tensor" and ports[name].type not in (None, STRING) for name in [*inputs, *outputs]):
            return self.bound, self.binding(inputs, outputs)
        return self.session.run, inputs

    def binding(self, inputs, outputs):
        """Inputs and outputs at fixed places, so that a run converts nothing."""
        binding = self.session.io_binding()
        for name, value in inputs.items():
            binding.bind_ortvalue_input(name, self.runtime.OrtValue.ortvalue_from_numpy(value))
        for name in outputs:
            binding.bind_output(name, "cpu")
        return binding

    def bound(self, outputs, binding):
        self.session.run_with_iobinding(binding)
        return binding

    def execute(self, prepared, outputs):
        run, inputs = prepared
        return run(outputs, inputs)

    def results(self, raw, outputs):
        if hasattr(raw, "copy_outputs_to_cpu"):
            return dict(zip(outputs, raw.copy_outputs_to_cpu()))
        types = {port.name: port.type for port in self.outputs}
        return {name: self.numpy(value, types[name]) for name, value in zip(outputs, raw)}

    def profile(self, inputs, outputs, warmup, repeat):
        """Another session, as one that tells of its nodes is slower."""
        with tempfile.TemporaryDirectory(prefix="onnxkit-profile-") as folder:
            twin, walls = OrtModel(self.runtime, self.again(os.path.join(folder, "run"))), []
            for _ in range(warmup + repeat):
                prepared = twin.prepare(inputs, outputs)
                start = time.perf_counter()
                twin.execute(prepared, outputs)
                walls.append(time.perf_counter() - start)
            with open(twin.session.end_profiling(), encoding="utf-8", errors="replace") as file:
                events = json.load(file, strict=False)
        runs = [event for event in events if event.get("name") == "model_run"][-repeat:]
        nodes = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
        if len(runs) < repeat or not nodes:
            raise WorkerError("failed", "the profile that ONNX Runtime wrote tells nothing of these runs")
        devices = {short(event["args"].get("provider", "CPUExecutionProvider")) for event in nodes}
        within = lambda run: [event for event in nodes if run["ts"] <= event["ts"] <= run["ts"] + run["dur"]]
        return [(wall, steps_of(run, within(run))) for wall, run in zip(walls[warmup:], runs)], "cpu" if devices == {"cpu"} else ", ".join(sorted(devices))

    def ort_value(self, value, port):
        """Its Python binding takes types that numpy lacks as bytes only."""
        if port.kind != "tensor":
            raise WorkerError("unsupported", f"'{port.name}' is a {port.kind} in a model with types that numpy lacks")
        if port.type not in ML_DTYPES:
            return self.runtime.OrtValue.ortvalue_from_numpy(value)
        if port.type in PACKED_BITS:
            raise WorkerError("unsupported", f"the Python package does not support packed types such as that of '{port.name}'")
        raw = value.view(np.uint16 if value.dtype.itemsize == 2 else np.uint8)
        return self.runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, port.type)

    def numpy(self, value, code):
        if not isinstance(value, self.runtime.OrtValue):
            return value
        if code not in ML_DTYPES:
            return value.numpy()
        shape = value.shape()
        count, dtype = int(np.prod(shape, dtype=np.int64)), dtype_of(code)
        size = (count * PACKED_BITS[code] + 7) // 8 if code in PACKED_BITS else count * dtype.itemsize
        data = np.frombuffer(ctypes.string_at(value.data_ptr(), size), np.uint8)
        return (unpack(data, code, count) if code in PACKED_BITS else data.view(dtype)).reshape(shape)


class OnnxRuntime(Backend):
    runtime = "ONNX Runtime"

    def start(self):
        self.module = import_runtime("onnxruntime")
        self.version = self.module.__version__
        self.providers = {short(name): name for name in self.module.get_available_providers() if short(name) not in REMOTE}
        self.devices = list(self.providers)
        self.options = {
            "optimization": option("graph optimisation level", "all", list(LEVELS)),
            "provider": option("execution provider; nodes that it cannot run use the CPU", "cpu", self.devices),
            "threads": THREADS,
        }
        if "cuda" in self.providers:
            self.options["tf32"] = option("matrix products in TF32", "on", ["on", "off"])
        for schema in getattr(self.module.capi._pybind_state, "get_all_operator_schema", list)():
            if not schema.domain.startswith("com.ms.internal"):
                self.opsets[schema.domain] = max(self.opsets.get(schema.domain, 0), schema.since_version)

    def load(self, path, format, options):
        settings = self.module.SessionOptions()
        settings.log_severity_level = 3  # a warning for each initializer of an old model hides what matters
        settings.graph_optimization_level = getattr(self.module.GraphOptimizationLevel, LEVELS[options["optimization"]])
        settings.intra_op_num_threads = number(options, "threads")
        if options["optimization"] == "none" and hasattr(self.module, "ExecutionOrder"):
            # By default all casts of weights run first, so that a model of bfloat16 weights needs three times its size.
            settings.execution_order = self.module.ExecutionOrder.PRIORITY_BASED
        provider = self.providers[options["provider"]]
        memory = cuda_memory() if options["provider"] == "cuda" else None
        tuned = {"use_tf32": "1" if options["tf32"] == "on" else "0"} if options["provider"] == "cuda" else {}
        wanted = [(provider, tuned)] + ([] if options["provider"] == "cpu" else [self.providers["cpu"]])
        session = self.module.InferenceSession(path, settings, providers=wanted)

        def again(prefix):
            settings.enable_profiling, settings.profile_file_prefix = True, prefix
            return self.module.InferenceSession(path, settings, providers=wanted)

        if provider not in session.get_providers():
            raise WorkerError("failed", f"{provider} did not start")
        model = OrtModel(self.module, session, again)
        if options["provider"] == "cpu":
            model.arithmetic = "float32"
        if memory:
            model.device_bytes = memory
        return model

    def kind_of(self, error):
        errors, text = self.module.capi.onnxruntime_pybind11_state, str(error)
        if "Failed to allocate memory" in text:
            return "memory"
        unsupported = ("is not a registered function/op", "Unsupported model IR version", "ONNX Runtime only *guarantees* support", "Unrecognized attribute")
        if isinstance(error, errors.NotImplemented) or any(part in text for part in unsupported):
            return "unsupported"
        return "invalid" if isinstance(error, errors.InvalidArgument) and "Got invalid dimensions" in text else None


serve(OnnxRuntime())
