"""OpenVINO, on each device that it finds."""
import time

from _protocol import THREADS, Backend, Model, import_runtime, number, option, serve
from _values import PACKED_BITS, STRING, Port, Step, WorkerError, dtype_of, np, pack, unpack

TYPES = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "string": 8, "boolean": 9, "f16": 10, "f64": 11, "u32": 12,
         "u64": 13, "bf16": 16, "f8e4m3": 17, "f8e5m2": 19, "u4": 21, "i4": 22, "f4e2m1": 23, "f8e8m0": 24, "u2": 25}


def name_of(port):
    """The name in the model where the port has several."""
    name = port.get_node().friendly_name.split("/sink_port_")[0]
    names = sorted(port.get_names())
    return name if name in names or not names else names[0]


def port_of(port):
    element, shape = port.element_type.get_type_name(), port.partial_shape
    if element not in TYPES and element != "dynamic":
        raise WorkerError("unsupported", f"'{name_of(port)}' is of OpenVINO's type {element}")
    sizes = [size.get_length() if size.is_static else None for size in shape] if shape.rank.is_static else None
    return Port(name_of(port), TYPES.get(element), sizes)


def layers_of(model):
    """The nodes of the model that each step computes. A convolution whose bias another step adds is called after its node and /WithoutBiases."""
    layers = {}
    for node in model.get_runtime_model().get_ordered_ops():
        facts = node.get_rt_info()
        names = facts["originalLayersNames"].value if "originalLayersNames" in facts else ""
        names = [name for name in str(names).split(",") if name]
        shorter = [name.removesuffix("/WithoutBiases") for name in names]
        layers[node.get_friendly_name()] = names + [name for name in shorter if name not in names]
    return layers


class Compiled(Model):
    def __init__(self, runtime, model, wanted, again=None):
        self.runtime, self.request, self.again = runtime, model.create_infer_request(), again
        self.inputs = [port_of(port) for port in model.inputs]
        self.outputs = [port_of(port) for port in model.outputs]
        self.ports = {port.name: argument for port, argument in zip(self.inputs, model.inputs)}
        self.places = {port.name: place for place, port in enumerate(self.outputs)}
        try:
            precision = model.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        except RuntimeError:  # not every device has the property
            return
        self.arithmetic = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}.get(precision)
        if wanted != precision and precision not in ("f32", "dynamic"):
            self.warnings = [f"computes in {precision} on this device, option precision=f32 selects float"]

    def prepare(self, inputs, outputs):
        for name, value in inputs.items():
            self.request.set_tensor(self.ports[name], self.tensor(value, self.ports[name].element_type))
        return self.request

    def execute(self, prepared, outputs):
        prepared.infer()
        return prepared

    def results(self, raw, outputs):
        return {name: self.numpy(raw.get_output_tensor(self.places[name])) for name in outputs}

    def profile(self, inputs, outputs, warmup, repeat):
        """Of the model compiled again, as one that tells of its steps is slower. Where a step began is not told."""
        model, device = self.again()
        twin, walls, told = Compiled(self.runtime, model, None), [], {0: []}
        for turn in range(1, warmup + repeat + 1):
            prepared = twin.prepare(inputs, outputs)
            start = time.perf_counter()
            twin.execute(prepared, outputs)
            walls.append(time.perf_counter() - start)
            if turn in (warmup, warmup + repeat):
                told[turn] = prepared.get_profiling_info()
        layers = layers_of(model)
        infos = [info for info in told[warmup + repeat] if info.status == info.Status.EXECUTED]
        seconds = {info.node_name: info.real_time.total_seconds() for info in infos}
        if device == "cpu":  # it tells the mean of all runs so far
            before = {info.node_name: info.real_time.total_seconds() for info in told[warmup]}
            seconds = {name: max((warmup + repeat) * mean - warmup * before.get(name, 0), 0) / repeat for name, mean in seconds.items()}
        steps = [Step(info.node_name, info.node_type, seconds[info.node_name], None, layers.get(info.node_name, [info.node_name])) for info in infos]
        return [(sum(walls[warmup:]) / repeat if device == "cpu" else walls[-1], steps)], device

    def tensor(self, value, element_type):
        code = TYPES.get(element_type.get_type_name())
        if code is None:
            return self.runtime.Tensor(value)
        if code == STRING:
            return self.runtime.Tensor(np.array(value.tolist(), str))
        tensor = self.runtime.Tensor(element_type, self.runtime.Shape(value.shape))
        source = pack(np.ascontiguousarray(value), code) if code in PACKED_BITS else np.ascontiguousarray(value)
        tensor.data.reshape(-1).view(np.uint8)[:] = source.reshape(-1).view(np.uint8)
        return tensor

    def numpy(self, tensor):
        """A copy, read as bytes: the package gives bfloat16 as float16."""
        code, shape = TYPES[tensor.element_type.get_type_name()], tuple(tensor.shape)
        if code == STRING:
            return np.array(tensor.str_data, object)
        data = tensor.data.reshape(-1).view(np.uint8).copy()
        count = int(np.prod(shape, dtype=np.int64))
        return (unpack(data, code, count) if code in PACKED_BITS else data.view(dtype_of(code))).reshape(shape)


class OpenVino(Backend):
    runtime = "OpenVINO"
    formats = ["onnx", "openvino-ir", "tflite", "saved-model", "frozen-graph"]

    def start(self):
        self.module = import_runtime("openvino")
        self.version = self.module.__version__.split("-")[0]
        self.core = self.module.Core()
        self.devices = [device.lower() for device in self.core.available_devices]
        self.options = {
            "device": option("where the model runs", "cpu", self.devices),
            "threads": THREADS,
            "precision": option("arithmetic; default: the runtime's choice for the device", "default", ["default", "f32", "bf16", "f16"]),
        }

    def load(self, path, format, options):
        settings = {}
        if threads := number(options, "threads"):
            settings["INFERENCE_NUM_THREADS"] = threads
        if options["precision"] != "default":
            settings["INFERENCE_PRECISION_HINT"] = options["precision"]
        device = options["device"].upper()
        model = self.core.compile_model(self.core.read_model(path), device, settings)

        def again():
            return self.core.compile_model(self.core.read_model(path), device, settings | {"PERF_COUNT": True}), options["device"]

        return Compiled(self.module, model, options["precision"], again)

    def message_of(self, error):
        """Without the places in its sources."""
        noise = ("Exception from", "Check '", "Model wasn't fully", "Summary", "FrontEnd API failed")
        return "\n".join(line for line in str(error).splitlines() if line and not line.startswith(noise)) or str(error)

    def kind_of(self, error):
        unsupported = ("OpConversionFailure", "No conversion rule", "not supported", "NotImplemented", "Unsupported")
        return "unsupported" if any(part in str(error) for part in unsupported) else None


serve(OpenVino())
