"""Models across backends, and what onnxkit knows."""

import ctypes
import json

from ._library import interruptible_call, options_text, report_of, text_bytes, worker_options
from ._values import to_values
from .model import Model
from .reports import BenchReport, DiffReport


def _handles(models):
    models = [models] if isinstance(models, Model) else list(models)
    return models, (ctypes.c_void_p * len(models))(*[model._handle.pointer for model in models])


def _words(backends):
    return [backends] if isinstance(backends, str) else backends


def diff(models, backends=None, *, inputs=None, files=None, samples=None, dims=None, seed=None, rtol=None, atol=None,
         tolerances=None, tasks=None, scores=None, names=None, layers=None, bisect=None, passes=None, repeat=None,
         warmup=None, threads=None, memory_bytes=None, allow_outside_data=None, schemas=None, python=None,
         worker_folders=None, trust_files=None, start_ms=None, load_ms=None, run_ms=None, worker_bytes=None):
    """Runs models on backends and judges their outputs by the noise floor; the first side is what others are compared with.

    models: a model, or several.
    backends: the reference and ONNX Runtime for one model, the reference for several, unless given.
    inputs: a set of values by name, or a list of sets; what they lack is generated, as are `samples` sets without any.
    files: of other frameworks, with what runs them: ["torch:net.pt2"].
    rtol, atol, tolerances: in place of the noise floor; tolerances by output, {"logits": {"rtol": 1e-3}}.
    layers, bisect: also look for the first wrong node; passes: and for wrong passes of plans.

    False when a side failed or an output deviates by more than rounding.
    """
    models, handles = _handles(models)
    sets = [inputs] if isinstance(inputs, dict) else list(inputs or [])
    values = [to_values(one, models[0].inputs) for one in sets if models]
    options = worker_options(
        backends=_words(backends), files=files, samples=samples, dims=dims,
        seed=seed, rtol=rtol, atol=atol, tolerances=tolerances, tasks=tasks, scores=scores, names=names, layers=layers,
        bisect=bisect, passes=passes, repeat=repeat, warmup=warmup, threads=threads, memory_bytes=memory_bytes,
        allow_outside_data=allow_outside_data, schemas=schemas, python=python, worker_folders=worker_folders,
        trust_files=trust_files, start_ms=start_ms, load_ms=load_ms, run_ms=run_ms, worker_bytes=worker_bytes)
    given = (ctypes.c_void_p * len(values))(*[one.pointer for one in values])
    slot = interruptible_call("diff", handles, len(models), given, len(values), options)
    return DiffReport(json.loads(text_bytes(slot)))


def bench(models, backends=None, *, inputs=None, files=None, dims=None, seed=None, threads=None, precision_goal=None,
          max_seconds=None, profile=None, all_runs=None, judge=None, memory_bytes=None, allow_outside_data=None,
          schemas=None, python=None, worker_folders=None, trust_files=None, start_ms=None, load_ms=None, run_ms=None,
          worker_bytes=None):
    """Measures how long models take on backends, round by round in random order; the first side is what others are compared with.

    models: a model, or several.
    backends: the reference and ONNX Runtime for one model, the reference for several, unless given.
    inputs: values by name; what they lack is generated.
    files: of other frameworks, with what runs them: ["torch:net.pt2"].
    threads: of every backend that has this option; "onnxruntime:threads=2" is for one.
    precision_goal, max_seconds: measure until the intervals of medians and ratios are this share of them (0.02), or so long (30).
    profile: also tell how long each step takes.
    judge: False leaves out the comparison of outputs with the reference.

    False when a side failed or answered wrong.
    """
    models, handles = _handles(models)
    values = to_values(inputs, models[0].inputs) if inputs and models else None
    options = worker_options(
        backends=_words(backends), files=files, dims=dims, seed=seed, threads=threads, precision_goal=precision_goal,
        max_seconds=max_seconds, profile=profile, all_runs=all_runs, judge=judge, memory_bytes=memory_bytes,
        allow_outside_data=allow_outside_data, schemas=schemas, python=python, worker_folders=worker_folders,
        trust_files=trust_files, start_ms=start_ms, load_ms=load_ms, run_ms=run_ms, worker_bytes=worker_bytes)
    slot = interruptible_call("bench", handles, len(models), values and values.pointer, options)
    return BenchReport(json.loads(text_bytes(slot)))


def backends(*, python=None, worker_folders=None, start_ms=None):
    """What can run models on this machine: a dictionary for each backend, those that are not there with the reason."""
    options = worker_options(python=python, worker_folders=worker_folders, start_ms=start_ms)
    return report_of("backends", options)["backends"]


def operators(*names, domain=None, targets=None, schemas=None):
    """Operators with their versions and what each changed (docs/json/ops.schema.json): those named, else all.

    targets: also tell which runtime and framework supports which version.
    """
    options = options_text(names=list(names), domain=domain, targets=targets, schemas=schemas)
    return report_of("ops", options)["operators"]
