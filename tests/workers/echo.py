"""A backend on tools/workers/_protocol.py whose outputs are its inputs; a model is a JSON list of ports. For tests/workers/protocol.py."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/workers"))

from _protocol import Backend, Model, option, serve  # noqa: E402
from _values import Port  # noqa: E402

FAULTS = {"memory": MemoryError, "unsupported": NotImplementedError, "failed": ValueError, "exit": SystemExit}


class Echo(Model):
    def __init__(self, ports, fault):
        self.inputs = self.outputs = [Port(**port) for port in ports]
        self.fault = fault

    def execute(self, prepared, outputs):
        if self.fault != "none":
            raise FAULTS[self.fault](f"asked for: {self.fault}")
        return prepared

    def results(self, raw, outputs):
        return {port.name: raw.get(port.name) for port in self.outputs}


class EchoBackend(Backend):
    runtime, version, formats = "echo", "1", ["echo"]
    options = {"fault": option("raised by run", "none", ["none", *FAULTS])}

    def load(self, path, format, options):
        with open(path) as file:
            return Echo(json.load(file), options["fault"])


serve(EchoBackend())
