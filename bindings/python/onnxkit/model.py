"""Models, and what can be done with them."""

import ctypes
import json
import os

from ._library import (Handle, call, function, interruptible_call, options_text, report_of, taken, text_bytes,
                       worker_options)
from ._values import from_values, to_values
from .errors import ConversionRefused, Error, InputError
from .reports import CheckReport, Finding, InferReport
from .session import Port, Session


def _call_with_findings(name, *arguments):
    """Calls a function whose last argument takes findings, which its error has, too."""
    slot = ctypes.c_void_p()
    try:
        call(name, *arguments, ctypes.byref(slot))
    except Error as fault:
        fault.findings = _findings(slot)
        raise
    return _findings(slot)


def _findings(slot):
    return [Finding.of(finding) for finding in json.loads(text_bytes(slot) or b"[]")]


def _read(name, *arguments):
    slot = ctypes.c_void_p()
    findings = _call_with_findings(name, *arguments, ctypes.byref(slot))
    read = Model(taken(slot, "model"))
    read.findings = findings
    return read


def load(source, *, format=None, signature=None, shapes=None, values=None):
    """Reads a model of any format that onnxkit reads: ONNX as binary, text or JSON, torch.export's .pt2, TorchScript, SavedModels, TensorFlow Lite.

    source: a path, or an onnx.ModelProto.
    format: "binary", "text", "json", "pt2", "torchscript", "saved-model", "tflite" ...; by name and content unless given.
    signature: which function of a model with several.
    shapes: of inputs that the file does not state: {"x": ["N", 3, 224, 224]}, {"tokens": {"sizes": [1, 128], "type": "int64"}}.
    values: of arguments of a TorchScript model that are no tensors: {"rate": "16000"}.

    What the reader has to say is in `findings` of the model, or of the error.
    """
    if hasattr(source, "SerializeToString"):
        return Model.from_proto(source)
    options = options_text(format=format, signature=signature, shapes=shapes, values=values)
    return _read("model_read", os.fsencode(source), options)


class Model:
    """A model in memory. Methods that change a model give a new one, which shares its weights."""

    def __init__(self, handle):
        self._handle = handle
        self.findings = []  #: what the reader had to say
        self.report = None  #: of the method that made this model, as docs/json describes it

    @classmethod
    def from_bytes(cls, data, *, name="<bytes>", format=None):
        """A model from the bytes of a file."""
        data = bytes(data)
        return _read("model_read_bytes", data, len(data), name.encode(), options_text(format=format))

    @classmethod
    def from_proto(cls, proto):
        """A model from an onnx.ModelProto."""
        return cls.from_bytes(proto.SerializeToString(), name="<ModelProto>", format="binary")

    def to_bytes(self, *, format=None, weights=None, allow_outside_data=None):
        """The bytes of a file. `weights` is "keep" or "embed"."""
        slot = ctypes.c_void_p()
        call("model_bytes", self._handle.pointer,
             options_text(format=format, weights=weights, allow_outside_data=allow_outside_data), ctypes.byref(slot))
        return text_bytes(slot)

    def to_proto(self):
        """An onnx.ModelProto; requires the package onnx."""
        import onnx
        return onnx.load_model_from_string(self.to_bytes(format="binary"))

    def save(self, path, *, format=None, weights=None, data_file=None, file_per_tensor=None, threshold=None, force=None,
             allow_outside_data=None):
        """Writes the model, complete or not at all, in the format that the name says: .onnx, .onnxtxt, .pt2, .tflite, .py ...

        weights: "keep" (external data stays external), "embed", or "extract": into `data_file` beside the model, from `threshold` bytes on.
        Returns what the writer had to say, as findings.
        """
        options = options_text(format=format, weights=weights, data_file=data_file, file_per_tensor=file_per_tensor,
                               threshold=threshold, force=force, allow_outside_data=allow_outside_data)
        return _call_with_findings("model_write", self._handle.pointer, os.fsencode(path), options)

    @property
    def inputs(self):
        """What the main graph declares: a list of `Port`."""
        return [Port.of(port) for port in report_of("model_describe", self._handle.pointer)["inputs"]]

    @property
    def outputs(self):
        """What the main graph gives: a list of `Port`."""
        return [Port.of(port) for port in report_of("model_describe", self._handle.pointer)["outputs"]]

    def copy(self):
        """An independent copy, which costs the graph only."""
        return Model(Handle(function("model_copy")(self._handle.pointer), "model"))

    __copy__ = copy

    def check(self, *, targets=None, suppress=None, suppress_nodes=None, inspect_weights=None, verify_checksums=None,
              dims=None, schemas=None, allow_outside_data=None):
        """All that is wrong with the model; false when something is an error.

        targets: runtimes or frameworks that it should run on, ["onnxruntime@1.31", "tflite"].
        suppress: codes that are not reported; suppress_nodes: codes by node, {"/head/*": "shape-mismatch"}.
        """
        return CheckReport(
            report_of(
                "check", self._handle.pointer,
                options_text(targets=targets, suppress=suppress, suppress_nodes=suppress_nodes,
                             inspect_weights=inspect_weights, verify_checksums=verify_checksums, dims=dims,
                             schemas=schemas, allow_outside_data=allow_outside_data)))

    def fix(self, *, schemas=None):
        """A model with what is safe to fix fixed; its `report` lists it."""
        fixed = self.copy()
        fixed.report = report_of("fix", fixed._handle.pointer, options_text(schemas=schemas))
        return fixed

    def infer(self, *, dims=None, assume_defaults=None, schemas=None):
        """A model with the types and shapes of all values, and `report` an InferReport. Raises InputError when it has errors."""
        inferred = self.copy()
        options = options_text(dims=dims, assume_defaults=assume_defaults, schemas=schemas)
        inferred.report = InferReport(report_of("infer", inferred._handle.pointer, options))
        wrong = [finding for finding in inferred.report.findings if finding.severity == "error"]
        if wrong:
            raise InputError(wrong[0].code, wrong[0].message, "\n".join(map(str, wrong)))
        return inferred

    def inspect(self, *, dims=None, values=None, schemas=None):
        """Inputs, outputs, operators, parameters, costs and graphs as a dictionary (docs/json/inspect.schema.json)."""
        return report_of("inspect", self._handle.pointer, options_text(dims=dims, values=values, schemas=schemas))

    def convert_opset(self, opset, *, verify=True, ir_version=None, align_corners=None, verify_ms=None, verify_bytes=None,
                      threads=None, dims=None, schemas=None, allow_outside_data=None):
        """The model in other versions of operator sets, up or down: 21, or {"ai.onnx": 21, "ai.onnx.ml": 5}.

        Both models are run on the reference; verify may be False, or "required": a model whose runs cannot be compared is refused.
        Raises ConversionRefused with everything that stands in the way.
        """
        return self._converted(
            "change_opset",
            options_text(opset=opset, verify=verify, ir_version=ir_version, align_corners=align_corners,
                         verify_ms=verify_ms, verify_bytes=verify_bytes, threads=threads, dims=dims, schemas=schemas,
                         allow_outside_data=allow_outside_data))

    def simplify(self, *, without=None, also=None, fix_defaults=None, most_growth=None, verify=True, verify_ms=None,
                 verify_bytes=None, threads=None, dims=None, schemas=None, allow_outside_data=None):
        """A model with fewer nodes that computes the same.

        without, also: names of simplifications that are left out, and that run beside the usual ones (docs/simplify.md).
        """
        return self._converted(
            "simplify",
            options_text(**{"with": also}, without=without, fix_defaults=fix_defaults, most_growth=most_growth,
                         verify=verify, verify_ms=verify_ms, verify_bytes=verify_bytes, threads=threads, dims=dims,
                         schemas=schemas, allow_outside_data=allow_outside_data))

    def _converted(self, name, options):
        result = self.copy()
        result.report = report_of(name, result._handle.pointer, options)
        file = result.report["files"][0]
        refusals = file.get("refusals") or [file[key] for key in ("refusal",) if key in file]
        if refusals:
            found = [Finding.of(refusal) for refusal in refusals]
            raise ConversionRefused(found[0].code, found[0].message, "\n".join(map(str, found)), refusals[0], result.report)
        verified = file.get("verified")
        if verified and verified["verdict"] == "different":
            raise ConversionRefused("results-differ", "the results differ: " + verified["reason"], report=result.report)
        return result

    def extract(self, *, inputs=(), outputs=(), schemas=None):
        """The part of the model that computes `outputs` (those of the model unless given) from `inputs`, as a model; both are names of values."""
        part, report = ctypes.c_void_p(), ctypes.c_void_p()
        call("extract", self._handle.pointer, options_text(**{"from": list(inputs)}, to=list(outputs), schemas=schemas),
             ctypes.byref(part), ctypes.byref(report))
        extracted = Model(taken(part, "model"))
        extracted.report = json.loads(text_bytes(report))
        return extracted

    def session(self, backend="reference", *, threads=None, memory_bytes=None, time_ms=None, iterations=None,
                unrounded=None, allow_outside_data=None, schemas=None, python=None, worker_folders=None, trust_files=None,
                start_ms=None, load_ms=None, run_ms=None, worker_bytes=None):
        """The model loaded on a backend, ready to run: "reference", "cpu", "cuda", "onnxruntime:optimization=none" ...

        memory_bytes, time_ms and iterations limit each run; python is the interpreter of runtimes in processes of their own.
        """
        return Session(
            self._handle.pointer,
            worker_options(backend=backend, threads=threads, memory_bytes=memory_bytes, time_ms=time_ms,
                           iterations=iterations, unrounded=unrounded, allow_outside_data=allow_outside_data,
                           schemas=schemas, python=python, worker_folders=worker_folders, trust_files=trust_files,
                           start_ms=start_ms, load_ms=load_ms, run_ms=run_ms, worker_bytes=worker_bytes))

    def run(self, inputs=None, outputs=None, *, backend="reference", seed=None, **options):
        """The outputs of one run, by name. Inputs that are not given are generated to fit the graph, from `seed`. Options are those of `session`."""
        given = self.generate_inputs(inputs, seed=seed)
        return self.session(backend, **options).run(given, outputs, seed=seed)

    def generate_inputs(self, given=None, *, dims=None, seed=None, memory_bytes=None, time_ms=None, schemas=None):
        """A value for each input that needs one: what is given, else generated to fit the graph. Sizes of open dimensions are `dims`."""
        values = to_values(given or {}, self.inputs)
        options = options_text(dims=dims, seed=seed, memory_bytes=memory_bytes, time_ms=time_ms, schemas=schemas)
        slot = interruptible_call("generate_inputs", self._handle.pointer, values.pointer, options)
        return from_values(taken(slot, "values"))

    def plan(self, backend="cpu", *, inputs=None, dims=None, seed=None, threads=None, memory_bytes=None, time_ms=None,
             allow_outside_data=None, schemas=None, python=None):
        """What a backend that compiles plans makes of the model for inputs of these sizes, as a dictionary (docs/json/plan.schema.json)."""
        values = to_values(inputs or {}, self.inputs)
        options = worker_options(backend=backend, dims=dims, seed=seed, threads=threads, memory_bytes=memory_bytes,
                                 time_ms=time_ms, allow_outside_data=allow_outside_data, schemas=schemas, python=python)
        return json.loads(text_bytes(interruptible_call("plan", self._handle.pointer, values.pointer, options)))
