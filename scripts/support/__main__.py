"""Behind scripts/measure_support."""
import argparse
import datetime
import importlib.metadata
import pathlib
import sys
import time
import warnings

import numpy as np
import onnx
from onnx import helper, numpy_helper

from . import cases
from .lacking import foreign_operators, lacks
from .measure import DOMAINS, Limits, OperatorTrial, versions
from .probes import Pairs
from .profile import Entry, render
from .runtimes import NO_RULE, RUNTIMES
from .worker import Worker

TARGETS = pathlib.Path(__file__).resolve().parents[2] / "checker" / "targets"
# Sums that a smaller type cannot hold: (element type, smaller type, addends).
NARROWING = (("double", "float", (1.0, 1e-12)), ("int64", "int32", (2**40, 1)))


def arguments():
    parser = argparse.ArgumentParser(prog="measure_support", description="Measures which operators a runtime runs.")
    parser.add_argument("runtime", choices=sorted(RUNTIMES))
    parser.add_argument("--only", metavar="OP,OP", help="measure these operators and print the entries instead of writing the profile")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="default: checker/targets/RUNTIME.yaml")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="date to state in the profile (default: today)")
    return parser.parse_args()


def narrowed(runtime, limits):
    """Element types that the runtime computes in a smaller one without saying so."""
    result = {}
    for name, smaller, addends in NARROWING:
        dtype = cases.tensor_type(f"tensor({name})")
        info = [helper.make_tensor_value_info(n, dtype, [1]) for n in "xyz"]
        graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "sum", info[:2], info[2:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=limits.ir_version)
        arrays = [np.array([v], helper.tensor_dtype_to_np_dtype(dtype)) for v in addends]
        total = runtime.compute(runtime.load(model.SerializeToString()), {n: numpy_helper.from_array(a, n) for n, a in zip("xy", arrays)})
        if total[0] != arrays[0][0] + arrays[1][0]:
            result[name] = smaller
    return result


def native_operators(runtime):
    """Entries for the runtime's own domains: kernels that it registers, none of them run here."""
    found = {}
    for op, domain, first, _, types in runtime.kernels():
        if domain in runtime.native_domains:
            merged = found.setdefault(domain, {}).setdefault(op, {}).setdefault(first, {})
            for constraint, allowed in types.items():
                merged.setdefault(constraint, set()).update(t.replace("tensor(", "").replace(")", "") for t in allowed if t.startswith("tensor("))
    return {
        domain: {
            op: [Entry([first], "loads", loads={c: sorted(t) for c, t in sorted(types.items()) if t}) for first, types in entries.items()]
            for op, entries in operators.items()
        }
        for domain, operators in found.items()
    }


def widened(entry, inside):
    """What runs inside of a graph runs, whatever its interface gives or takes."""
    if entry is None or inside is None or entry.status == "refused":
        return inside if entry is None or inside is not None else entry
    for constraint, names in inside.types.items():
        entry.types[constraint] = sorted({*entry.types.get(constraint, []), *names})
    for kind, names in ((entry.loads, inside.loads), (entry.refused, inside.refused)):
        for constraint in {*kind, *names}:
            left = {*kind.get(constraint, []), *names.get(constraint, [])} - {*entry.types.get(constraint, [])}
            kind.pop(constraint, None)
            if left:
                kind[constraint] = sorted(left)
    return entry


def joined(conditions, probed):
    """What pairs of models tell stands for what was only noted of the same item."""
    probed = list(probed)
    items = [{key: c[key] for key in ("attribute", "input", "output") if key in c} for c in probed]
    kept = [c for c in conditions if c not in probed and not ("note" in c and {k: v for k, v in c.items() if k != "note"} in items)]
    return kept + probed


def measure(runtime_name, only):
    worker = Worker(runtime_name)
    limits = Limits(worker)
    print(f"{runtime_name}: opsets {limits.opset}, IR version {limits.ir_version}")
    found = cases.official_cases()
    operators = {domain: {} for domain in DOMAINS}
    models = 0
    for schema, last_opset in versions():
        if only and schema.name not in only:
            continue
        newest = limits.opset[schema.domain][1]
        if schema.since_version > newest:
            continue
        models_of = found.get((schema.domain, schema.name), [])
        opset = min(last_opset or newest, newest)
        trial = OperatorTrial(worker, schema, opset, limits.ir_version)
        entry = trial.entry(trial.measure(models_of))
        models += len(trial.trials)
        if entry and entry.status == "refused" and schema.has_function and opset > schema.since_version:
            # A function body is written for the opset that brought it and may be refused in a newer one.
            first = OperatorTrial(worker, schema, schema.since_version, limits.ir_version)
            if first.entry(first.measure(models_of)).status == "runs":
                entry.status, entry.why = "loads", f"runs at opset {schema.since_version}, at {opset}: {entry.why}"
        pairs = Pairs(worker, schema, opset, limits.ir_version)
        entry = widened(entry, pairs.inside())
        if entry and entry.status != "refused":
            entry.when = joined(entry.when, pairs.conditions())
        if entry is None:
            print(f"  no model for {schema.name}-{schema.since_version}")
            outputs = max(schema.min_output, 1)
            if not lacks(worker, schema.domain, schema.name, max(schema.min_input, 1), outputs, opset, limits.ir_version):
                continue
            entry = Entry([schema.since_version], "refused", NO_RULE)
        operators[schema.domain].setdefault(schema.name, []).append(entry)
    if not only:
        for domain in RUNTIMES[runtime_name].foreign_domains:
            operators[domain] = foreign_operators(worker, domain, limits.ir_version)
    worker.close()
    print(f"{runtime_name}: {models} models, {worker.crashes} crashes or hangs")
    return limits, operators


def main():
    warnings.simplefilter("ignore")
    options = arguments()
    started = time.monotonic()
    limits, operators = measure(options.runtime, set(options.only.split(",")) if options.only else None)
    runtime = RUNTIMES[options.runtime]()
    operators |= native_operators(runtime)
    version = importlib.metadata.version(runtime.package)
    head = {
        "target": options.runtime,
        "about": runtime.about,
        "kind": "measured",
        "version": version,
        "date": options.date,
        "source": f"PyPI {runtime.package} {version}, models of onnx {onnx.__version__}",
        "command": f"scripts/measure_support {options.runtime}",
        "exhaustive": False,
        "limits": {
            "opset": {domain or "ai.onnx": list(span) for domain, span in limits.opset.items()},
            "ir_version": limits.ir_version,
            **{name: False for name in ("functions", "sparse_initializers") if not getattr(limits, name)},
            **({"tensor_ports": True} if limits.tensor_ports else {}),
            **({"narrowed": small} if (small := narrowed(runtime, limits)) else {}),
        },
    }
    text = render(head, {d: o for d, o in operators.items() if o}, "Written by scripts/measure_support; do not edit.")
    if options.only:
        sys.stdout.write(text)
        return
    out = options.out or TARGETS / f"{options.runtime}.yaml"
    out.write_text(text, encoding="utf-8")
    print(f"{out.name}: {sum(len(o) for o in operators.values())} operators, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
