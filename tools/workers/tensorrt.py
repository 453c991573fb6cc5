"""TensorRT 10 and newer: ONNX models, built for the shapes that come, and engine files."""
from _protocol import Backend, DeviceMemory, Model, import_runtime, option, serve
from _values import Port, WorkerError, dtype_of, np

TYPES = {"FLOAT": 1, "UINT8": 2, "INT8": 3, "INT32": 6, "INT64": 7, "BOOL": 9, "HALF": 10, "BF16": 16, "FP8": 17}
PRECISIONS = {"f16": "FP16", "bf16": "BF16"}
OUT_OF_MEMORY = 2


class Cuda:
    """The functions of the CUDA runtime without their prefix; an error that CUDA reports is raised."""

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        def call(*arguments):
            status, *values = getattr(self.module, "cuda" + name)(*arguments)
            if int(status):
                raise (MemoryError if int(status) == OUT_OF_MEMORY else RuntimeError)(f"cuda{name}: {status}")
            return None if not values else values[0] if len(values) == 1 else values
        return call

    def used(self):
        free, total = self.MemGetInfo()
        return total - free

    def copy(self, target, source, size, direction):
        self.Memcpy(target, source, size, getattr(self.module.cudaMemcpyKind, "cudaMemcpy" + direction))


def port_of(name, dtype, shape):
    if dtype.name not in TYPES:
        raise WorkerError("unsupported", f"'{name}' is of TensorRT's type {dtype.name}")
    return Port(name, TYPES[dtype.name], [size if size >= 0 else None for size in shape])


class Engine(Model):
    """Runs on buffers that are made anew when shapes change; `build` gives the engine for the shapes of the inputs."""

    def __init__(self, cuda, inputs, outputs, build):
        self.cuda, self.inputs, self.outputs, self.build = cuda, inputs, outputs, build
        self.device_bytes = DeviceMemory(cuda.used)
        self.stream, self.shapes, self.buffers = cuda.StreamCreate(), None, {}
        if all(isinstance(size, int) for port in inputs for size in port.shape):
            self.set_shapes({port.name: tuple(port.shape) for port in inputs})

    def __del__(self):
        self.free()
        self.cuda.StreamDestroy(self.stream)

    def free(self):
        for address, _ in self.buffers.values():
            self.cuda.Free(address)
        self.buffers = {}

    def set_shapes(self, shapes):
        self.free()
        self.shapes, self.engine = None, self.build(shapes)
        self.context = self.engine.create_execution_context()
        for name, shape in shapes.items():
            if not self.context.set_input_shape(name, shape):
                raise WorkerError("invalid", f"the engine does not accept the shape {list(shape)} for '{name}'")
        for port in self.inputs + self.outputs:
            if self.engine.is_shape_inference_io(port.name):
                raise WorkerError("unsupported", f"'{port.name}' is a shape")
            shape = shapes.get(port.name) or tuple(self.context.get_tensor_shape(port.name))
            if min(shape, default=0) < 0:
                raise WorkerError("unsupported", f"the shape of '{port.name}' depends on values")
            mirror = np.empty(shape, dtype_of(port.type))
            address = self.cuda.Malloc(max(mirror.nbytes, 1))
            self.buffers[port.name] = address, mirror
            self.context.set_tensor_address(port.name, address)
        self.shapes = shapes

    def prepare(self, inputs, outputs):
        shapes = {name: tuple(value.shape) for name, value in inputs.items()}
        if shapes != self.shapes:
            self.set_shapes(shapes)
        for name, value in inputs.items():
            value = np.ascontiguousarray(value)
            self.cuda.copy(self.buffers[name][0], value.ctypes.data, value.nbytes, "HostToDevice")

    def execute(self, prepared, outputs):
        if not self.context.execute_async_v3(int(self.stream)):
            raise RuntimeError("execute_async_v3 failed")
        self.cuda.StreamSynchronize(self.stream)

    def results(self, raw, outputs):
        for name in outputs:
            address, mirror = self.buffers[name]
            self.cuda.copy(mirror.ctypes.data, address, mirror.nbytes, "DeviceToHost")
        return {name: self.buffers[name][1] for name in outputs}


class TensorRt(Backend):
    runtime = "TensorRT"
    formats = ["onnx", "tensorrt-engine"]
    devices = ["cuda"]
    options = {
        "precision": option("a shorter type that the builder may use", "default", ["default", *PRECISIONS]),
        "tf32": option("matrix products and convolutions in TF32", "on", ["on", "off"]),
    }

    def start(self):
        self.trt = import_runtime("tensorrt")
        self.version = self.trt.__version__
        self.cuda = Cuda(import_runtime("cuda.bindings.runtime", "cuda-python"))
        if not self.cuda.GetDeviceCount():
            raise WorkerError("unavailable", "no CUDA device was found")
        self.logger = self.trt.Logger(self.trt.Logger.WARNING)
        self.loader = self.trt.Runtime(self.logger)

    def load(self, path, format, options):
        if format == "onnx":
            network = self.parsed(path)[1]
            inputs = [network.get_input(place) for place in range(network.num_inputs)]
            outputs = [network.get_output(place) for place in range(network.num_outputs)]
            sides = ([port_of(tensor.name, tensor.dtype, tensor.shape) for tensor in side] for side in (inputs, outputs))
            return Engine(self.cuda, *sides, lambda shapes: self.deserialized(self.built(path, options, shapes)))
        with open(path, "rb") as file:
            engine, sides = self.deserialized(file.read()), ([], [])
        for name in (engine.get_tensor_name(place) for place in range(engine.num_io_tensors)):
            is_output = engine.get_tensor_mode(name) != self.trt.TensorIOMode.INPUT
            sides[is_output].append(port_of(name, engine.get_tensor_dtype(name), engine.get_tensor_shape(name)))
        return Engine(self.cuda, *sides, lambda shapes: engine)

    def parsed(self, path):
        """Builder, network and parser: the first two need the last one alive."""
        builder = self.trt.Builder(self.logger)
        network = builder.create_network(0)
        parser = self.trt.OnnxParser(network, self.logger)
        if not parser.parse_from_file(path):
            errors = [parser.get_error(place).desc() for place in range(parser.num_errors)]
            raise WorkerError("unsupported", errors[0] if errors else "the parser rejects the model", "\n".join(errors))
        return builder, network, parser

    def built(self, path, options, shapes):
        builder, network, _parser = self.parsed(path)
        config, flags = builder.create_builder_config(), self.trt.BuilderFlag
        (config.set_flag if options["tf32"] == "on" else config.clear_flag)(flags.TF32)
        if wanted := PRECISIONS.get(options["precision"]):
            if not hasattr(flags, wanted):
                raise WorkerError("unsupported", f"TensorRT {self.version} has no flag {wanted}: using the types of the model")
            config.set_flag(getattr(flags, wanted))
        dynamic = [tensor.name for tensor in map(network.get_input, range(network.num_inputs)) if min(tensor.shape, default=0) < 0]
        if dynamic:
            profile = builder.create_optimization_profile()
            for name in dynamic:
                profile.set_shape(name, *[shapes[name]] * 3)
            config.add_optimization_profile(profile)
        plan = builder.build_serialized_network(network, config)
        if plan is None:
            raise RuntimeError("the builder found no engine; see the log")
        return plan

    def deserialized(self, plan):
        engine = self.loader.deserialize_cuda_engine(plan)
        if engine is None:
            raise WorkerError("unsupported", "the engine is for another device or another version of TensorRT")
        return engine


serve(TensorRt())
