"""The worker's side of docs/worker-protocol.md, for Python 3.9 and newer. An adapter derives Backend and Model and ends with `serve(ItsBackend())`."""
from __future__ import annotations

import importlib
import json
import os
import socket
import struct
import sys
import time
import traceback

from _values import Empty, Inner, NAMES, Port, Reader, Step, WorkerError, Writer

VERSION = 1
MOST_BYTES = 64 << 20
MOST_SEGMENTS = 64
NEEDED = {"load": {"path", "format"}, "inner": {"model"}, "run": {"model", "inputs"}, "profile": {"model", "inputs"}, "unload": {"model"}}


def first_line(error):
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]


def import_runtime(module, package=None):
    """The module, or the error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module + ".").startswith(error.name + "."):
            message = f"no module named {error.name} in {sys.executable}; pip install {package or module}, or name another interpreter with --python"
            raise WorkerError("unavailable", message) from None
        raise WorkerError("unavailable", f"{module} does not import in {sys.executable}: {first_line(error)}") from None
    except Exception as error:
        raise WorkerError("unavailable", f"{module} does not import in {sys.executable}: {first_line(error)}") from None


def option(help, default, values=None):
    return {"help": help, "default": default} | ({"values": values} if values else {})


THREADS = option("threads inside an operator; 0: the runtime decides", "0")


def number(options, name):
    """The option as a number that is not negative."""
    text = options[name]
    if not text.isdecimal():
        raise WorkerError("invalid", f"option {name} must be a number, not '{text}'")
    return int(text)


class DeviceMemory:
    """How much more of a device's memory is in use than when this was made; `used` gives its bytes now, of all programs."""

    def __init__(self, used):
        self.used, self.before = used, used()

    def __call__(self):
        return max(self.used() - self.before, 0)


class Model:
    """A loaded model. Before each run `prepare` makes of the inputs, a dict of numpy values, what the runtime takes; `execute` is the
    run alone, and what is measured: on return the device has finished; `results` gives a dict of numpy values of the last run."""
    inputs: list[Port]
    outputs: list[Port]
    warnings = ()
    arithmetic = None  # what products and sums of float32 are computed in, where that is known

    def prepare(self, inputs, outputs):
        return inputs

    def execute(self, prepared, outputs):
        raise NotImplementedError

    def results(self, raw, outputs):
        return raw

    def device_bytes(self):
        """The memory of a device that is held now, or that was held at most; None on the host, or where that is not known."""
        return None

    def inside(self) -> list[Inner]:
        """The values inside the model that `look` can give, in an order of execution."""
        raise WorkerError("unsupported", "this runtime tells nothing of the values inside such a model")

    def profile(self, inputs, outputs, warmup, repeat):
        """Where the time of `repeat` runs goes, after `warmup` unmeasured ones: for each its wall time and its list of Step, and the device."""
        raise WorkerError("unsupported", "this runtime tells nothing of the time of nodes")

    def look(self, inputs, names):
        """One unmeasured run; a dict of the numpy values of these names, which are of outputs and of values inside."""
        raise NotImplementedError


class Backend:
    """One runtime. `start` imports it and sets what is not told here."""
    runtime = ""
    version = ""
    devices = ["cpu"]
    formats = ["onnx"]
    options = {}
    opsets = {}
    trusts = False  # whether the file to load may run code

    def start(self):
        """Imports the runtime; WorkerError of kind unavailable when that fails."""

    def load(self, path, format, options):
        raise NotImplementedError

    def message_of(self, error):
        return str(error).strip() or type(error).__name__

    def kind_of(self, error):
        """The kind of an exception of the runtime; None: the shared rules say it."""
        return None


def bind(message, values, ports):
    """The values by name, where they fit the ports."""
    given, known = {}, {port.name: port for port in ports}
    for fields in message:
        name, value = fields["name"], values.value(fields)
        if name not in known:
            raise WorkerError("invalid", f"the model has no input '{name}'; it has {', '.join(map(repr, known)) or 'none'}")
        if value is not Empty:
            check(known[name], fields, value)
            given[name] = value
    missing = [port.name for port in ports if not port.optional and port.name not in given]
    if missing:
        raise WorkerError("invalid", f"inputs without a value: {', '.join(map(repr, missing))}")
    return given


def check(port, fields, value):
    kind = fields.get("kind", "tensor")
    if kind != port.kind and port.kind != "optional":
        raise WorkerError("invalid", f"input '{port.name}' is a {port.kind}, not a {kind}")
    if kind != "tensor" or port.kind != "tensor":
        return
    if port.type not in (None, fields["type"]):
        raise WorkerError("invalid", f"input '{port.name}' takes {NAMES[port.type]}, not {NAMES[fields['type']]}")
    shape = list(value.shape)
    if port.shape is None:
        return
    fits = len(shape) == len(port.shape) and all(a == b for a, b in zip(shape, port.shape) if isinstance(b, int))
    if not fits:
        raise WorkerError("invalid", f"input '{port.name}' takes the shape {port.shape}, not {shape}")


class Worker:
    """Answers the requests of one socket."""

    def __init__(self, backend, channel):
        self.backend, self.channel = backend, channel
        self.models, self.next_model, self.ready, self.most_device_bytes = {}, 1, False, 0
        self.requests = {"hello": self.hello, "load": self.load, "inner": self.inner, "run": self.run, "profile": self.profile, "unload": self.unload, "quit": lambda *_: ({}, None)}

    def serve(self):
        while (received := receive(self.channel)) is not None:
            request, descriptors = received
            answer, segment = self.answer(request, descriptors)
            send(self.channel, {"id": request.get("id")} | answer, segment)
            if request.get("op") == "quit":
                return

    def answer(self, request, descriptors):
        try:
            values = Reader(descriptors)
            operation = self.requests.get(request.get("op"))
            if operation is None:
                raise WorkerError("invalid", f"unknown request '{request.get('op')}'")
            needed = NEEDED.get(request["op"], set())
            if needed and not self.ready:
                raise WorkerError("invalid", "the first request must be hello")
            if missing := needed - request.keys():
                raise WorkerError("invalid", f"a request without {', '.join(sorted(missing))}")
            answer, segment = operation(request, values)
            return {"ok": True} | answer, segment
        except WorkerError as error:
            fields = {"kind": error.kind, "message": str(error), "trace": error.trace}
            return {"ok": False, "error": fields} | error.beside, None
        except (Exception, SystemExit) as error:
            fields = {"kind": self.backend.kind_of(error) or kind_of(error), "message": self.backend.message_of(error)}
            return {"ok": False, "error": fields | {"trace": traceback.format_exc()}}, None

    def hello(self, request, _):
        if request.get("protocol") != VERSION:
            raise WorkerError("invalid", f"this worker uses version {VERSION} of the protocol", protocol=VERSION)
        backend = self.backend
        try:
            backend.start()
            import_runtime("numpy")
        except WorkerError:
            raise
        except Exception as error:
            raise WorkerError("unavailable", f"{backend.runtime} does not work here: {first_line(error)}", traceback.format_exc()) from None
        self.ready = True
        return {"protocol": VERSION, "runtime": backend.runtime, "version": backend.version, "devices": backend.devices,
                "formats": backend.formats, "options": backend.options, "opsets": backend.opsets}, None

    def load(self, request, _):
        if request["format"] not in self.backend.formats:
            raise WorkerError("unsupported", f"{self.backend.runtime} loads {', '.join(self.backend.formats)}, not {request['format']}")
        if not os.path.exists(request["path"]):
            raise WorkerError("invalid", f"file not found: {request['path']}")
        self.backend.trusts = request.get("trust") is True
        start = time.perf_counter()
        model = self.backend.load(request["path"], request["format"], self.chosen(request.get("options") or {}))
        seconds = time.perf_counter() - start
        number, self.next_model = self.next_model, self.next_model + 1
        self.models[number] = model
        return {"model": number, "inputs": [port.message() for port in model.inputs], "outputs": [port.message() for port in model.outputs],
                "warnings": list(model.warnings), "arithmetic": model.arithmetic, "seconds": seconds}, None

    def chosen(self, given):
        """All options: as given, or their defaults."""
        options = {name: fields["default"] for name, fields in self.backend.options.items()}
        for name, text in given.items():
            if name not in options:
                raise WorkerError("invalid", f"unknown option '{name}'; available: {', '.join(options) or 'none'}")
            values = self.backend.options[name].get("values")
            if values and text not in values:
                raise WorkerError("invalid", f"option {name} must be one of {', '.join(values)}, not '{text}'")
            options[name] = text
        return options

    def inner(self, request, _):
        model = self.model(request)
        model.known_inside = {value.name: value for value in model.inside()}
        return {"values": [value.message() for value in model.known_inside.values()]}, None

    def run(self, request, values):
        model, inputs, ports, names = self.asked(request, values)
        inside = getattr(model, "known_inside", {})
        unknown = [name for name in names if name not in ports and name not in inside]
        if unknown:
            raise WorkerError("invalid", f"the model has no output {', '.join(map(repr, unknown))}")
        if any(name not in ports for name in names):
            return self.look(model, inputs, names, request)
        warmup, samples, raw = request.get("warmup", 0), [], None
        for turn in range(warmup + max(request.get("repeat", 1), 1)):
            prepared = model.prepare(inputs, names)
            raw = None
            cpu, wall = time.process_time(), time.perf_counter()
            raw = model.execute(prepared, names)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            if turn >= warmup:
                samples.append([wall, cpu])
        results, writer = model.results(raw, names), Writer()
        outputs = [{"name": name} | writer.value(results[name], ports[name]) for name in names]
        answer = {"outputs": outputs, "samples": samples}
        if (held := model.device_bytes()) is not None:
            self.most_device_bytes = max(self.most_device_bytes, held)
            answer["device_bytes"] = self.most_device_bytes
        return answer, writer.segment()

    def asked(self, request, values):
        model = self.model(request)
        ports = {port.name: port for port in model.outputs}
        return model, bind(request["inputs"], values, model.inputs), ports, list(ports) if request.get("outputs") is None else request["outputs"]

    def profile(self, request, values):
        model, inputs, ports, names = self.asked(request, values)
        if unknown := [name for name in names if name not in ports]:
            raise WorkerError("invalid", f"the model has no output {', '.join(map(repr, unknown))}")
        runs, device = model.profile(inputs, names, max(request.get("warmup", 0), 0), max(request.get("repeat", 1), 1))
        # What a run does may depend on its data; runs of other steps than the last are left out.
        kinds = [[step.kind() for step in steps] for _, steps in runs]
        runs = [run for run, kind in zip(runs, kinds) if kind == kinds[-1]]
        steps = [step.message([steps[place].span for _, steps in runs]) for place, step in enumerate(runs[-1][1])]
        return {"steps": steps, "walls": [wall for wall, _ in runs], "device": device}, None

    def look(self, model, inputs, names, request):
        wall = time.perf_counter()
        results, writer = model.look(inputs, names), Writer()
        outputs = [{"name": name} | writer.value(results[name], Port(name)) for name in names]
        return {"outputs": outputs, "samples": [[time.perf_counter() - wall, None]] * max(request.get("repeat", 1), 1)}, writer.segment()

    def unload(self, request, _):
        self.model(request)
        del self.models[request["model"]]
        return {}, None

    def model(self, request):
        if request["model"] not in self.models:
            raise WorkerError("invalid", f"unknown model {request['model']}")
        return self.models[request["model"]]


def kind_of(error):
    if isinstance(error, MemoryError) or "std::bad_alloc" in str(error):
        return "memory"
    return "unsupported" if isinstance(error, NotImplementedError) else "failed"


def receive(channel):
    """The next message and the descriptors that came with it; None when the socket is closed."""
    descriptors = []
    header = read(channel, 4, descriptors)
    if header is None:
        return None
    size = struct.unpack("<I", header)[0]
    if size > MOST_BYTES:
        raise SystemExit(f"a message of {size} bytes")
    body = read(channel, size, descriptors)
    return None if body is None else (json.loads(body.decode("utf-8")), descriptors)


def read(channel, size, descriptors):
    data = bytearray()
    while len(data) < size:
        part, more, _, _ = socket.recv_fds(channel, size - len(data), MOST_SEGMENTS)
        if not part:
            return None
        data += part
        descriptors += more
    return data


def send(channel, message, segment=None):
    if segment is not None:
        message["segments"] = 1
    body = json.dumps(message).encode("utf-8")
    if len(body) > MOST_BYTES:
        raise SystemExit(f"an answer of {len(body)} bytes")
    data = struct.pack("<I", len(body)) + body
    sent = socket.send_fds(channel, [data], [] if segment is None else [segment])
    if sent < len(data):
        channel.sendall(data[sent:])
    if segment is not None:
        os.close(segment)


def hide_adapters():
    """Adapters are called like the packages that they import: the folder they lie in must not be searched."""
    here = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) != here]


def serve(backend):
    """Answers requests until the host says quit or goes away."""
    hide_adapters()
    number = os.environ.pop("ONNXKIT_WORKER_FD", None)
    if number is None:
        raise SystemExit("This program is started by onnxkit, see docs/worker-protocol.md.")
    with socket.socket(fileno=int(number)) as channel:
        channel.set_inheritable(False)
        try:
            Worker(backend, channel).serve()
        except (BrokenPipeError, ConnectionResetError):  # the host is gone
            pass
