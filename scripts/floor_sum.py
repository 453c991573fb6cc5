"""The sum of scripts/noise_floor: how many honest outputs are alarms or undecidable, and how many planted faults are flagged, by class of networks.

Networks are those of scripts/sample_networks, over generated sets of inputs and a file with many, and exported models, over recorded and generated ones.
"""
import collections
import dataclasses
import re
import sys

import numpy
import onnx
import onnxruntime

import sample_networks
from diff_runs import ROOT, matches, sets_of
from faults import planted
from planted_faults import recorded, values_of

SIDES = ["onnxruntime optimization=none", "onnxruntime optimization=basic", "onnxruntime optimization=all", "openvino precision=f32"]
BACKENDS = ",".join(["reference", *(side.replace(" ", ":") for side in SIDES)])
SEEDS, GENERATED, MANY = [0, 1000], 20, 100
MOST_BYTES = 3 << 20  # of an exported model whose inputs are generated
FAMILIES = {"quantized": "quantized", "detection": "detectors", "ml": "trees", "invalid": None}
REST = "float"
FAULTS, FAULT_SETS = 12, 3
# Exported models for faults, in the classes that the sample networks leave to them.
FAULTY = ["mnist_cnn/onnx_opset17", "unet_shapes/bilinear_opset13", "rnn/gru_opset11", "keras/cnn_onnx", "quantized/mnist_qdq_int8",
          "quantized/mnist_qoperator_uint8", "quantized/unet_qdq_uint8", "detection/ssd_opset11", "ml/random_forest_diabetes", "ml/lightgbm_cancer"]
FLAGGED = ("not rounding", "mismatch")
UNDECIDABLE_LIMIT, GOAL, GOALS = 0.01, 0.97, {"quantized": 0.9, "detectors": 0.9}


@dataclasses.dataclass
class Honest:
    """One output of one honest run over one set of inputs."""
    group: str
    model: str
    source: str  # of the inputs
    side: str
    output: dict

    @property
    def is_alarm(self):
        coarse = self.output["verdict"] == "rounding" and self.output["profile"] not in (None, "float32")
        return self.output["verdict"] in FLAGGED or coarse


@dataclasses.dataclass
class Fault:
    group: str
    model: str
    kind: str
    words: str
    changes: bool  # what the backend gives, whatever the noise floor says
    verdict: str


def class_of(name):
    return FAMILIES.get(name.split("/")[0], REST)


def progress(text):
    print(f"\r{text:90.90}", end="", file=sys.stderr, flush=True)


def made_networks(folder):
    """(class, name, file, file with many sets of inputs); made once."""
    folder.mkdir(parents=True, exist_ok=True)
    for group, networks in sample_networks.classes().items():
        for name, make in networks.items():
            file = folder / f"{name}.onnx"
            if not file.exists():
                onnx.save(make(), file)
            many = file.with_suffix(".npz")
            if not many.exists():
                numpy.savez(many, **sample_networks.draw(onnx.load(file), numpy.random.default_rng(5), MANY))
            yield group, name, file, many


def honest_runs(runner, models, options):
    """Honest outputs of all networks and models."""
    for group, name, file, many in list(made_networks(ROOT / "build/sample_networks")):
        jobs = {f"generated, seed {seed}": ["--samples", str(GENERATED), "--seed", str(seed)] for seed in SEEDS}
        jobs["a file of many"] = ["--set", str(many)]
        yield from judged(runner, group, name, file, jobs, options)
    for path in sorted(models.glob("*/*/model.onnx")):
        name = str(path.parent.relative_to(models))
        if not (group := class_of(name)):
            continue
        jobs = {"recorded": sets_of(path.parent)} if sets_of(path.parent) else {}
        if path.stat().st_size <= MOST_BYTES:
            jobs["generated, seed 2000"] = ["--samples", "5", "--seed", "2000"]
        yield from judged(runner, group, name, path, jobs, options)


def judged(runner, group, name, file, jobs, options):
    for source, arguments in jobs.items():
        key = f"sum/{name}-{source.replace(', ', '-').replace(' ', '-')}"
        progress(key)
        report = runner.report(key, [str(file), "-b", BACKENDS, *arguments], options.renews(key))
        for side in report["sides"][1:]:
            for output in side["outputs"]:
                yield Honest(group, name, source, side["label"], output)


def with_causes(entries, causes):
    """(those without a known cause other than rounding, the others by model, side and cause)."""
    rest, left_out = [], collections.Counter()
    for entry in entries:
        verdict = entry.output["profile"] if entry.output["verdict"] == "rounding" else entry.output["verdict"]
        cause = next((cause["cause"] for cause in causes if entry.is_alarm and matches(entry.model, cause["models"]) and matches(entry.side, cause["sides"]) and
                      matches(verdict, cause.get("verdicts", ["*"]))), None)
        if cause:
            left_out[entry.model, entry.side, cause] += 1
        else:
            rest.append(entry)
    return rest, left_out


def session(model, optimized):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, sets, optimized=True):
    """Outputs over all sets, or None where ONNX Runtime does not run the model."""
    try:
        made = session(model, optimized)
        return [made.run(None, inputs) for inputs in sets]
    except Exception:  # whatever the fault broke
        return None


def differs(sound, faulty, plain):
    """Whether a fault changes what ONNX Runtime gives by far more than another order of sums does: `plain` is the sound model's without optimisation."""
    for outputs, others, unoptimized in zip(sound, faulty, plain):
        for a, b, c in zip(outputs, others, unoptimized):
            if not isinstance(a, numpy.ndarray) or a.dtype.kind not in "fiub":
                continue
            if a.shape != b.shape or (a.dtype.kind != "f" and (a != b).any()):
                return True
            if a.dtype.kind != "f" or a.size == 0:
                continue
            honest = abs(a - c).max() if a.shape == c.shape else 0
            if not abs(a - b).max() <= max(16 * honest, 1e-5 * abs(a).max()):
                return True
    return False


def sets_for(model, folder, file):
    """Sets of inputs that faults are looked for with, and how diff is given them: recorded ones, or drawn ones that are written to the file."""
    if folder:
        paths = sorted(folder.glob("test_data_set_*"))[:FAULT_SETS]
        return [recorded(model, path) for path in paths], [word for path in paths for word in ("--set", str(path))]
    drawn = sample_networks.draw(model, numpy.random.default_rng(17), FAULT_SETS)
    numpy.savez(file, **drawn)
    return [{name: array[i] for name, array in drawn.items()} for i in range(FAULT_SETS)], ["--set", str(file)]


def faults_of(runner, group, name, file, folder, options):
    """Faults of a network. Without a folder of recorded sets inputs are drawn."""
    key = f"sum/faults/{name}"
    kept = runner.folder / f"{key}.json"
    if kept.exists() and not options.renews(key):
        return [Fault(**row) for row in runner.report(key, [], False)["faults"]]
    model, found = onnx.load(file), []
    runner.folder.mkdir(parents=True, exist_ok=True)
    broken = runner.folder / "faulty.onnx"
    sets, arguments = sets_for(model, folder, broken.with_suffix(".npz"))
    sound, plain = run(model, sets), run(model, sets, optimized=False)
    for number, (kind, _, words, faulty) in enumerate(planted(model, values_of(model, sets[0]), FAULTS, 3)):
        progress(f"{key} {number} {kind}")
        outputs = run(faulty, sets)
        if outputs is None:
            continue
        onnx.save(faulty, broken)
        report = runner.report("sum/faults/last", [str(file), f"onnxruntime:{broken}", "-b", "reference", *arguments], True)
        side = report["sides"][1]
        found.append(Fault(group, name, kind, words, differs(sound, outputs, plain), "fails" if "failure" in side else side["verdict"]))
    runner.keep(key, {"faults": [dataclasses.asdict(fault) for fault in found]})
    return found


def planted_runs(runner, models, options):
    for group, name, file, _ in list(made_networks(ROOT / "build/sample_networks")):
        yield from faults_of(runner, group, name, file, None, options)
    for name in FAULTY:
        yield from faults_of(runner, class_of(name), name, models / name / "model.onnx", models / name, options)


def share(part, whole):
    return f"{100 * part / whole:.2f} %" if whole else "-"


def honest_rows(entries):
    groups = collections.defaultdict(list)
    for entry in entries:
        groups[entry.group].append(entry)
    for group, those in [*sorted(groups.items()), ("**all**", entries)]:
        verdicts = collections.Counter(entry.output["verdict"] for entry in those)
        yield [group, len({entry.model for entry in those}), len(those), verdicts["identical"], sum(entry.is_alarm for entry in those), verdicts["undecidable"],
               share(verdicts["undecidable"], len(those)), verdicts["not compared"]]


def fault_rows(faults):
    groups = collections.defaultdict(list)
    for fault in faults:
        groups[fault.group].append(fault)
    for group, those in [*sorted(groups.items()), ("**all**", faults)]:
        changing = [fault for fault in those if fault.changes]
        flagged = sum(fault.verdict in FLAGGED for fault in changing)
        silent = sum(fault.verdict not in FLAGGED for fault in those if not fault.changes)
        yield [group, len(those), len(changing), flagged, share(flagged, len(changing)), f"{silent} of {len(those) - len(changing)}"]


def goals(entries, faults):
    """(what, measured, whether it is reached)."""
    alarms, undecidable = sum(entry.is_alarm for entry in entries), sum(entry.output["verdict"] == "undecidable" for entry in entries)
    yield "at least 5,000 honest outputs", f"{len(entries):,}", len(entries) >= 5000
    yield "no false alarm", str(alarms), alarms == 0
    yield f"undecidable at most {100 * UNDECIDABLE_LIMIT:.0f} %", share(undecidable, len(entries)), undecidable <= UNDECIDABLE_LIMIT * len(entries)
    for group, least in {"all": GOAL, **GOALS}.items():
        those = [fault for fault in faults if fault.changes and group in ("all", fault.group)]
        flagged = sum(fault.verdict in FLAGGED for fault in those)
        yield f"{group}: at least {100 * least:.0f} % of faults that change outputs flagged", share(flagged, len(those)), flagged >= least * len(those)


def versions(runner):
    report = runner.report("sum/forest-a-file-of-many", [], False)
    return ", ".join(dict.fromkeys(re.sub(r"\s+", " ", side["version"]) for side in report["sides"][1:] if side.get("version")))


def lines(runner, entries, left_out, faults, table):
    """The tables."""
    yield f"Backends: {versions(runner)}."
    yield ""
    yield table(["goal", "measured", ""], [[what, got, "reached" if good else "**missed**"] for what, got, good in goals(entries, faults)])
    yield ""
    yield table(["honest runs", "models", "outputs", "identical", "false alarms", "undecidable", "share", "not compared"], honest_rows(entries))
    yield ""
    yield table(["planted faults", "planted", "change outputs", "flagged", "share", "others, silent"], fault_rows(faults))
    if alarms := [entry for entry in entries if entry.is_alarm]:
        yield "\nFalse alarms:\n"
        yield table(["model", "side", "inputs", "output", "verdict", "why"], [
            [entry.model, entry.side, f"{entry.source}: {entry.output['set']}", entry.output["name"], entry.output["profile"] or entry.output["verdict"],
             entry.output.get("why", "")] for entry in alarms])
    if missed := [fault for fault in faults if fault.changes and fault.verdict not in FLAGGED]:
        yield "\nFaults that change outputs and are not flagged:\n"
        yield table(["model", "fault", "what was done", "verdict"], [[fault.model, fault.kind, fault.words, fault.verdict] for fault in missed])
    if left_out:
        yield "\nLeft out, with a cause other than rounding:\n"
        yield table(["model", "side", "outputs", "cause"], [[name, side, count, " ".join(cause.split())] for (name, side, cause), count in left_out.items()])
