"""What a runtime does with one version of one operator, found by running conformance models on it."""
import collections
import dataclasses
import re

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from . import cases
from .profile import Entry
from .worker import CRASHED

DOMAINS = ("", "ai.onnx.ml")
MOST_BASES = 250  # official cases tried for one version
MOST_RETRIES = 4  # cases tried for one element type before it counts as refused
# Types that a retyped case may use beside the one in question without being refused for them.
PLAIN = {"float", "int64", "int32", "bool", "uint8", "string"}
OF_THIS_MACHINE = ("locale",)  # reasons that say something about the machine, not about the runtime
BETTER = {"runs": 2, "loads": 1, "refused": 0}


@dataclasses.dataclass
class Trial:
    case: cases.Case
    types: dict  # type constraint -> type
    status: str
    why: str
    probed: tuple = ()  # (type constraint, type) that the case was retyped for


class Limits:
    """Oldest and newest opset of each domain and newest IR version that load and run, found by trying."""

    def __init__(self, worker):
        self.worker = worker
        self.ir_version = self.running(range(3, onnx.IR_VERSION + 1), lambda v: self.identity(13, v))[-1]
        self.opset = {}
        for domain in DOMAINS:
            newest = defs.onnx_opset_version() if not domain else max(s.since_version for s in defs.get_all_schemas_with_history() if s.domain == domain)
            make = self.normalizer if domain else lambda v: self.identity(v, self.ir_version)
            versions = self.running(range(1, newest + 1), make)
            self.opset[domain] = (versions[0], versions[-1])

        self.functions = self.worker.try_model(self.with_function(), FEED)[0] == "runs"
        self.tensor_ports = self.worker.try_model(self.with_sequence(), None)[0] == "refused"
        self.sparse_initializers = self.worker.try_model(self.with_sparse_initializer(), FEED)[0] == "runs"

    def with_function(self):
        """A call of a function that the model defines."""
        model = self.identity(13, self.ir_version)
        model.functions.append(helper.make_function("f", "copy", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 13)]))
        model.graph.node[0].CopyFrom(helper.make_node("copy", ["x"], ["y"], domain="f"))
        model.opset_import.append(helper.make_opsetid("f", 1))
        return model

    def with_sequence(self):
        """A sequence as an output."""
        model = self.identity(13, self.ir_version)
        model.graph.node[0].CopyFrom(helper.make_node("SequenceConstruct", ["x"], ["y"]))
        model.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("y", onnx.TensorProto.FLOAT, [1, 2]))
        return model

    def with_sparse_initializer(self):
        model = self.identity(13, self.ir_version)
        values = helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], [2.0])
        indices = helper.make_tensor("w_indices", onnx.TensorProto.INT64, [1], [1])
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [1, 2]))
        model.graph.node[0].CopyFrom(helper.make_node("Add", ["x", "w"], ["y"]))
        return model

    def running(self, candidates, make):
        return [v for v in candidates if self.worker.try_model(make(v), FEED)[0] == "runs"]

    @staticmethod
    def identity(opset, ir_version):
        return one_node(helper.make_node("Identity", ["x"], ["y"]), [helper.make_opsetid("", opset)], ir_version)

    def normalizer(self, version):
        imports = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", version)]
        node = helper.make_node("Normalizer", ["x"], ["z"], domain="ai.onnx.ml", norm="L2")
        model = one_node(helper.make_node("Identity", ["x"], ["y"]), imports, self.ir_version)
        model.graph.node.append(node)
        model.graph.output.append(helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, [1, 2]))
        return model


FEED = {"x": numpy_helper.from_array(np.ones((1, 2), np.float32), "x")}


def one_node(node, imports, ir_version):
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2]) for name in "xy"]
    graph = helper.make_graph([node], "limits", infos[:1], infos[1:])
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version)


class OperatorTrial:
    """All trials of one version of one operator."""

    def __init__(self, worker, schema, opset, ir_version):
        self.worker, self.schema, self.opset, self.ir_version = worker, schema, opset, ir_version
        self.trials = []
        self.constant = set()  # formal inputs that must be constant
        self.ran_dynamic = set()
        self.named = set()  # optional inputs that an empty name must not leave out

    def attempt(self, case, constant=()):
        model = cases.build(case, self.schema, self.opset, self.ir_version, constant)
        if model is None:
            return None
        values = {n: proto for n, (_, proto) in case.values.items() if n not in constant}
        status, why = self.worker.try_model(model, values)
        if why == CRASHED or why.startswith("no answer"):
            print(f"  {self.schema.name}-{self.schema.since_version}: {why}", flush=True)
        if any(word in why for word in OF_THIS_MACHINE):
            return None
        boundary = {info.type.WhichOneof("value") for info in [*model.graph.input, *model.graph.output]}
        if status == "refused" and boundary - {"tensor_type", None}:
            return None  # a runtime may run sequences inside of a graph that it cannot take or give
        return Trial(case, cases.binding(model, self.schema), status, why)

    def formal_names(self, case):
        """Actual name -> formal name of the node's own inputs."""
        pairs = ((name, cases.formal(self.schema.inputs, i)) for i, name in enumerate(case.node.input) if name)
        return {name: parameter.name for name, parameter in pairs if parameter}

    def run_case(self, case):
        """The best trial of a case: as it is, else with inputs as initializers; learns which of them have to be."""
        formal = self.formal_names(case)
        known = tuple(n for n in case.values if formal.get(n) in self.constant)
        trial = self.attempt(case, known)
        if trial is None:
            return None
        if trial.status == "runs":
            self.ran_dynamic |= {formal[n] for n in case.values if n in formal and n not in known}
        elif trial.why != CRASHED and not trial.why.startswith("no answer") and case.values:
            trial = self.with_constants(case, formal, trial)
        self.trials.append(trial)
        return trial

    def with_constants(self, case, formal, failed):
        names = [n for n, (_, proto) in case.values.items() if isinstance(proto, onnx.TensorProto)]
        for constant in (tuple(n for n in names if n != next(iter(case.values))), tuple(names)):
            trial = self.attempt(case, constant) if constant else None
            if trial is None or trial.status != "runs":
                continue
            if failed.status == "refused" and len(constant) < len(names):
                for name in constant:
                    alone = self.attempt(case, tuple(n for n in constant if n != name))
                    if alone is not None and alone.status == "refused" and formal.get(name) not in self.ran_dynamic:
                        self.constant.add(formal.get(name))
            return trial
        return failed

    def measure(self, found):
        bases = []
        for made_for, case in found:
            moved = case if made_for.since_version == self.schema.since_version else cases.retarget(case, made_for, self.schema)
            if moved is not None and len(bases) < MOST_BASES:
                trial = self.run_case(moved)
                if trial is not None:
                    bases.append(trial)
        self.try_empty_names(bases)
        bases.sort(key=lambda t: (-BETTER[t.status], len(set(t.types.values()) - PLAIN)))
        for constraint in self.schema.type_constraints:
            for allowed in sorted(constraint.allowed_type_strs):
                dtype = cases.tensor_type(allowed)
                if dtype is not None:
                    self.measure_type(bases, constraint.type_param_str, dtype)
        return bases

    def try_empty_names(self, bases):
        """Optional inputs at the end that a case leaves out, left out by empty names instead, one more at a time."""
        shortest = min((t for t in bases if t.status == "runs"), key=lambda t: len(t.case.node.input), default=None)
        if shortest is None:
            return
        node = onnx.NodeProto()
        node.CopyFrom(shortest.case.node)
        for parameter in list(self.schema.inputs)[len(node.input):]:
            if parameter.option != defs.OpSchema.FormalParameterOption.Optional:
                return
            node.input.append("")
            case = cases.Case(node, shortest.case.values, shortest.case.outputs)
            trial = self.attempt(case, tuple(n for n in case.values if self.formal_names(case).get(n) in self.constant))
            if trial is not None and trial.status == "refused":
                self.named.add(parameter.name)
                return

    def measure_type(self, bases, constraint, dtype):
        name = onnx.TensorProto.DataType.Name(dtype).lower()
        if any(t.status == "runs" and t.types.get(constraint) == name for t in self.trials):
            return
        tried = 0
        for base in bases:
            case = cases.retype(base.case, self.schema, constraint, dtype)
            trial = self.run_case(case) if case is not None else None
            if trial is None or trial.types.get(constraint) != name:
                continue
            trial.probed = (constraint, name)
            tried += 1
            if trial.status == "runs" or trial.why == CRASHED:
                return
            if tried == MOST_RETRIES:
                break
        self.measure_uniform(bases, name, dtype)

    def measure_uniform(self, bases, name, dtype):
        """A kernel may want one type throughout: every type constraint that allows it gets it."""
        if self.schema.name.startswith("Cast"):
            return  # passing a type on says nothing of its conversion
        allowing = [c.type_param_str for c in self.schema.type_constraints if f"tensor({name})" in c.allowed_type_strs]
        if len(allowing) < 2:
            return
        for base in bases[:MOST_RETRIES]:
            case = base.case
            for constraint in allowing:
                case = cases.retype(case, self.schema, constraint, dtype) or case
            trial = self.run_case(case)
            if trial is not None and trial.status == "runs":
                return

    def entry(self, bases):
        """The profile entry, or None when no model could be made."""
        if not self.trials:
            return None
        best = max(self.trials, key=lambda t: BETTER[t.status])
        entry = Entry([self.schema.since_version], best.status)
        refusals = [t.why for t in self.trials if t.status == "refused" and t.why]
        if best.status == "refused":
            entry.why = collections.Counter(refusals).most_common(1)[0][0] if refusals else "refused"
            return entry
        for (constraint, name), status in sorted(self.standing().items()):
            target = {"runs": entry.types, "loads": entry.loads, "refused": entry.refused}[status]
            target.setdefault(constraint, []).append(name)
        reasons = {t.why for t in self.trials if t.status == "refused" and t.probed and t.probed[1] in entry.refused.get(t.probed[0], [])}
        if len(reasons) == 1:
            entry.why = reasons.pop()
        entry.when = [{"input": n, "constant": True} for n in sorted(self.constant - self.ran_dynamic - {None})]
        entry.when += [{"input": n, "named": True} for n in sorted(self.named)]
        entry.when += restrictions(self, bases, entry)
        return entry


    def standing(self):
        """(type constraint, type) -> status. Refused only by a trial in which every other type is one that runs."""
        result = {}
        for trial in self.trials:
            if trial.status != "refused":
                for key in trial.types.items():
                    result[key] = max(result.get(key, "loads"), trial.status, key=BETTER.get)
        runs = {key for key, status in result.items() if status == "runs"}
        for trial in self.trials:
            doubtful = set(trial.types.items()) - runs
            if trial.status == "refused" and len(doubtful) == 1:
                result.setdefault(doubtful.pop(), "refused")
        # A type that brings the process down once does not count as running, whatever other cases did.
        return result | {t.probed: "refused" for t in self.trials if t.probed and t.why == CRASHED}


def features(operator, trial):
    """What a model uses: (kind, name, value) of attributes, given and left out, optional inputs and outputs, and the rank of the first input."""
    schema, case = operator.schema, trial.case
    given = {a.name: a for a in case.node.attribute}
    for name, attribute in schema.attributes.items():
        if name in given or attribute.default_value.name:
            value = helper.get_attribute_value(given.get(name, attribute.default_value))
            if isinstance(value, (bytes, int)):
                yield "attribute", name, value.decode() if isinstance(value, bytes) else value
        elif not attribute.required:
            yield "absent", name, True
    for kind, formals, names in (("input", schema.inputs, case.node.input), ("output", schema.outputs, case.node.output)):
        for index, name in enumerate(names):
            parameter = cases.formal(formals, index)
            if name and parameter and parameter.option == defs.OpSchema.FormalParameterOption.Optional:
                yield kind, parameter.name, True
    first = next((n for n in case.node.input if n in case.values), None)
    if first and isinstance(case.values[first][1], onnx.TensorProto) and operator.formal_names(case).get(first):
        yield "rank", operator.formal_names(case)[first], len(case.values[first][1].dims)


def restrictions(operator, bases, entry):
    """Conditions that tell the official cases that are refused from those that run, as far as one feature explains them.

    A value of an attribute that only ever occurs in refused cases is refused, and so is its absence, and a rank that the reason itself gives, or
    that of a scalar where the reason speaks of ranks or is a crash. An optional input may
    be refused for what else those few cases have in common, so it only becomes a note.
    """
    ran = set()
    for trial in bases:
        if trial.status == "runs":
            ran |= set(features(operator, trial))
    values, ranks, others = collections.defaultdict(set), collections.defaultdict(set), {}
    for trial in bases:
        if trial.status != "refused" or any(t in entry.refused.get(c, []) + entry.loads.get(c, []) for c, t in trial.types.items()):
            continue
        suspects = suspected([f for f in features(operator, trial) if f not in ran], trial.why)
        kind, name, value = suspects[0] if len(suspects) == 1 else ("", "", None)
        if kind == "attribute" and "nrecognized attribute" in trial.why:
            others[kind, name] = {kind: name, "present": False}
        elif kind == "attribute":
            values[name].add(value)
        elif kind == "absent":
            others[kind, name] = {"attribute": name, "present": True}
        elif kind == "rank" and re.search(rf"rank\D{{0,3}}{value}\b|\b{value}-?D\b" if value else f"rank|{CRASHED}", trial.why):
            ranks[name].add(value)
        elif kind in ("input", "output"):
            others[kind, name] = {kind: name, "note": trial.why}
        else:
            print(f"  unexplained: {operator.schema.name}-{operator.schema.since_version}: {trial.why[:100]} | {suspects}", flush=True)
    yield from ({"attribute": name, "not_in": sorted(refused)} for name, refused in sorted(values.items()))
    yield from ({"input": name, "not_rank": sorted(refused)} for name, refused in sorted(ranks.items()))
    yield from (condition for _, condition in sorted(others.items()))


def suspected(features_of_refused, why):
    """Those that the reason names, else the one whose value is a word, else all."""
    named = [f for f in features_of_refused if re.search(rf"(?<![a-z0-9]){f[1]}_?(?![a-z0-9])", why, re.IGNORECASE)]
    words = [f for f in features_of_refused if f[0] == "attribute" and isinstance(f[2], str)]
    return next((some for some in (named, words) if len(some) == 1), features_of_refused)


def versions():
    """Schemas to measure with the newest opset in which each is in force (None: still in force)."""
    by_name = collections.defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in DOMAINS:
            by_name[schema.domain, schema.name].append(schema)
    for key in sorted(by_name):
        schemas = sorted(by_name[key], key=lambda s: s.since_version)
        for schema, following in zip(schemas, [*schemas[1:], None]):
            if not schema.deprecated:
                yield schema, following.since_version - 1 if following else None
