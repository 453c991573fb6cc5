"""Models in pairs that differ in one thing: where a runtime refuses one and runs the other, that thing is a condition of its profile.

And operators on sequences, which a runtime may run inside of a graph that takes and gives tensors only.
"""
import dataclasses

import numpy as np
import onnx
from onnx import helper, parser, shape_inference

from . import cases
from .profile import Entry
from .recipes import PASSED_TYPES
from .worker import CRASHED

OPEN_SIZE = 2  # of an axis that has a name only
MOST_TRIES = 3


@dataclasses.dataclass
class Probe:
    """`refused` and `runs`: graphs; of several forms the first one counts that the version can express."""

    op: str
    condition: dict
    refused: list
    runs: list


def open_count(op, name, call, other="float[2] x", out="float[2]", symbolic="float[m] y"):
    """That the number of elements of a list, and with it the rank of the result, must be known."""
    graph = "main ({other}, int64[{n}] {name}) => ({out}) {{ y = {call} }}"
    texts = [graph.format(other=other, n=n, name=name, out=o, call=call).replace("(, ", "(") for n, o in (("n", symbolic), ("1", f"{out} y"))]
    return Probe(op, {"input": name, "static": True}, texts[:1], texts[1:])


def empty_axis(op, name, call, first, second, condition=None):
    """That no axis may have no elements. `first`: sizes that are refused, `second`: those that run, for x and if needed w."""
    axes = ", ".join(f"axis{i}" for i in range(first[0].count(",") + 1))
    texts = []
    for sizes in (first, second):
        ports = ", ".join(f"float[{s}] {port}" for s, port in zip(sizes, "xw"))
        texts.append(f"main ({ports}) => (float[{axes}] y) {{ y = {call} }}")
    return Probe(op, {"input": name, "nonempty": True, **(condition or {})}, texts[:1], texts[1:])


BRANCHES = ("main (bool c, float[2] x) => (float[n] z) { y = If (c) <then_branch = t () => (float[2] a) { a = Identity (x) },"
            " else_branch = e () => (%s b) { %s }> one = Constant <value = int64[1] {-1}> () z = Reshape (y, one) }")
TAKEN = BRANCHES.replace("bool c, ", "").replace("{ y =", "{ c = Constant <value = bool {1}> () y =", 1)
READS_OUTSIDE = ("main (bool c, float[2] x) => (float[n] y) {{ {outside} y = If (c) <then_branch = t () => (float[n] a)"
                 " {{ {inside} {reads} }}, else_branch = e () => (float[2] b) {{ b = Identity (x) }}> }}")
LOOP = ("main (float[2] x) => ({out} y) {{ n = Constant <value = int64 {{2}}> () c = Constant <value = bool {{1}}> () i = Constant <value = int64 {{0}}> ()"
        " e = SequenceEmpty () {s} y = {reads} }}")
FROM_LOOP = ("s = Loop (n, c, e) <body = b (int64 k, bool d, seq(float[2]) p) => (bool f, seq(float[2]) q)"
             " { f = Identity (d) q = SequenceInsert (p, x) }>")
PAD = 'main (float[{sizes}] x) => (float[m, n] y) {{ p = Constant <value = int64[4] {{0, 1, 0, 1}}> () y = Pad <mode = "{mode}"> (x, p) }}'
OLD_PAD = 'main (float[{sizes}] x) => (float[m, n] y) {{ y = Pad <mode = "{mode}", pads = [0, 1, 0, 1]> (x) }}'
RANGE = ("main (float x, float w) => (float[n] y) { s = Constant <value = int64 {0}> () d = Constant <value = int64 {1}> ()"
         " l = Constant <value = int64 {%d}> () r = Range (s, l, d) f = Cast <to = 1> (r) m = Mul (f, w) y = Add (m, x) }")
ONE_HOT = ("main (int64{rank} x) => (int64[{out}] y) {{ d = Constant <value = int64 {{3}}> () v = Constant <value = int64[2] {{0, 1}}> ()"
           " y = OneHot (x, d, v) }}")
NON_ZERO = ("main (float%s x) => (int64[n] y) { k = Constant <value = int64[1] {1}> () z = NonZero (x) t = Transpose <perm = [1, 0]> (z)"
            " s = Split <axis = 1> (t, k) y = Squeeze (s, k) }")
# More elements than there are would make repeats a scalar.
EMPTY = ("main (float[2] x) => (float[m] y) {{ q = Constant <value = int64[{count}] {{{numbers}}}> () z = Constant <value = int64 {{{count}}}> ()"
         " n = Size (q) c = Greater (n, z) r = If (c) <then_branch = t () => (int64 a) {{ a = Constant <value = int64 {{1}}> () }},"
         " else_branch = e () => (int64[1] b) {{ b = Constant <value = int64[1] {{2}}> () }}> y = Tile (x, r) }}")
UNTAKEN = ("main (float[2] x) => (float[n] y) { c = Constant <value = bool {0}> () y = If (c) <then_branch = t () => (float[m, k] a)"
           " { s = Constant <value = int64[2] {%d, %d}> () a = Reshape (x, s) }, else_branch = e () => (float[2] b) { b = Identity (x) }> }")
SEQUENCE = "s = SequenceConstruct (x, x)"
TWO_RANKS = ("float[1, 2]", "k = Constant <value = int64[2] {1, 2}> () b = Reshape (x, k)")
ONE_RANK = ("float[1]", "k = Constant <value = int64[1] {1}> () b = Gather (x, k)")


def outside(op, reads):
    texts = [READS_OUTSIDE.format(outside=o, inside=i, reads=reads) for o, i in ((SEQUENCE, ""), ("", SEQUENCE))]
    return Probe(op, {"input": "input_sequence", "local": True}, texts[:1], texts[1:])


def of_loop(op, reads, out="float[m]", more=""):
    first = "t = SequenceInsert (e, x) s = SequenceInsert (t, x)"
    texts = [LOOP.format(s=s + more, reads=reads, out=out) for s in (FROM_LOOP, first)]
    return Probe(op, {"input": "input_sequence", "not_from": ["Loop"]}, texts[:1], texts[1:])


def empty_name(op):
    texts = [f"main (float[2, 2] x) => (float[m, n] y) {{ y = {op} ({inputs}) }}" for inputs in ('x, ""', "x")]
    return Probe(op, {"input": "axes", "named": True}, texts[:1], texts[1:])


PROBES = [
    *(empty_name(f"Reduce{kind}") for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")),
    open_count("ConstantOfShape", "input", "ConstantOfShape (input)", ""),
    open_count("Expand", "shape", "Expand (x, shape)"),
    open_count("Reshape", "shape", "Reshape (x, shape)"),
    open_count("Tile", "repeats", "Tile (x, repeats)"),
    open_count("Squeeze", "axes", "Squeeze (x, axes)", "float[2, 1] x"),
    open_count("Unsqueeze", "axes", "Unsqueeze (x, axes)", out="float[1, 2]"),
    Probe(
        "Squeeze",
        {"input": "data", "static": True, "if": [{"input": "axes", "present": False}, {"attribute": "axes", "present": False}]},
        ["main (float[n, 1] x) => (float[n] y) { y = Squeeze (x) }"],
        ["main (float[2, 1] x) => (float[2] y) { y = Squeeze (x) }"],
    ),
    Probe("If", {"output": "outputs", "equal_ranks": True, "if": [{"input": "cond", "constant": False}]}, [BRANCHES % TWO_RANKS], [BRANCHES % ONE_RANK, TAKEN % TWO_RANKS]),
    empty_axis("MatMul", "A", "MatMul (x, w)", ("2, 0", "0, 3"), ("2, 4", "4, 3")),
    empty_axis("MatMul", "B", "MatMul (x, w)", ("2, 4", "4, 0"), ("2, 4", "4, 3")),
    empty_axis("Gemm", "A", "Gemm (x, w)", ("2, 0", "0, 3"), ("2, 4", "4, 3")),
    empty_axis("Gemm", "B", "Gemm (x, w)", ("2, 4", "4, 0"), ("2, 4", "4, 3")),
    *(empty_axis(op, "X", f"{op} <kernel_shape = [2, 2]> (x)", ("0, 1, 4, 4",), ("1, 1, 4, 4",)) for op in ("AveragePool", "LpPool", "MaxPool")),
    *(empty_axis(op, "X", f"{op} (x)", ("0, 1, 4, 4",), ("1, 1, 4, 4",)) for op in ("GlobalAveragePool", "GlobalMaxPool")),
    empty_axis("Conv", "X", "Conv (x, w)", ("0, 1, 4, 4", "1, 1, 2, 2"), ("1, 1, 4, 4", "1, 1, 2, 2")),
    Probe(
        "Pad",
        {"input": "data", "nonempty": True, "if": [{"attribute": "mode", "in": ["reflect"]}]},
        [PAD.format(sizes="0, 4", mode="reflect"), OLD_PAD.format(sizes="0, 4", mode="reflect")],
        [text.format(sizes=sizes, mode=mode) for text in (PAD, OLD_PAD) for sizes, mode in (("1, 4", "reflect"), ("0, 4", "constant"))],
    ),
    Probe(
        "Expand",
        {"input": "shape", "nonempty": True, "if": [{"input": "shape", "initializer": False}, {"input": "input", "port": True}, {"output": "output", "port": True}]},
        ["main (float x) => (float y) { s = Shape (x) y = Expand (x, s) }"],
        ["main (float[2] x, float s) => (float[2] y) { h = Shape (s) y = Expand (x, h) }", "main (float x, float s) => (float y) { h = Shape (s) z = Expand (x, h) y = Abs (z) }", "main (float x) => (float y) { s = Constant <value = int64[0] {}> () y = Expand (x, s) }"],
    ),
    Probe(
        "Dropout",
        {"input": "training_mode", "constant": True},
        ["main (float[2] x, bool t) => (float[2] y) { r = Constant <value = float {0.5}> () y = Dropout (x, r, t) }"],
        ["main (float[2] x) => (float[2] y) { r = Constant <value = float {0.5}> () t = Constant <value = bool {0}> () y = Dropout (x, r, t) }"],
    ),
    Probe(
        "Dropout",
        {"input": "training_mode", "in": [0]},
        ["main (float[2] x) => (float[2] y) { r = Constant <value = float {0.5}> () t = Constant <value = bool {1}> () y = Dropout (x, r, t) }"],
        ["main (float[2] x) => (float[2] y) { r = Constant <value = float {0.5}> () t = Constant <value = bool {0}> () y = Dropout (x, r, t) }"],
    ),
    Probe(
        "SplitToSequence",
        {"input": "split", "static": True},
        ["main (float[2] x, int64[n] split) => (float[m] y) { s = SplitToSequence (x, split) y = ConcatFromSequence <axis = 0> (s) }"],
        ["main (float[2] x, int64[2] split) => (float[m] y) { s = SplitToSequence (x, split) y = ConcatFromSequence <axis = 0> (s) }"],
    ),
    Probe("Size", {"input": "data", "nonempty": True, "if": [{"input": "data", "initializer": True}]}, [EMPTY.format(count=0, numbers="")], [EMPTY.format(count=1, numbers="2")]),
    Probe("Reshape", {"input": "shape", "copies": "data", "if": [{"attribute": "allowzero", "in": [0]}]}, [UNTAKEN % (2, 0)], [UNTAKEN % (0, 1)]),
    Probe("OneHot", {"input": "indices", "min_rank": 1}, [ONE_HOT.format(rank="", out="3")], [ONE_HOT.format(rank="[2]", out="2, 3")]),
    Probe("NonZero", {"input": "X", "note": "the result has no rows for what follows", "if": [{"input": "X", "rank": [0, 0]}]}, [NON_ZERO % ""], [NON_ZERO % "[2]"]),
    Probe("Range", {"output": "output", "nonempty": True, "if": [{"input": "limit", "constant": True}]}, [RANGE % 0], [RANGE % 3]),
    outside("ConcatFromSequence", "a = ConcatFromSequence <axis = 0> (s)"),
    outside("SequenceAt", "i = Constant <value = int64 {0}> () a = SequenceAt (s, i)"),
    outside("SequenceInsert", "r = SequenceInsert (s, x) a = ConcatFromSequence <axis = 0> (r)"),
    outside("SequenceErase", "r = SequenceErase (s) a = ConcatFromSequence <axis = 0> (r)"),
    outside("SequenceLength", "l = SequenceLength (s) m = Cast <to = 1> (l) a = Add (x, m)"),
    of_loop("ConcatFromSequence", "ConcatFromSequence <axis = 0> (s)"),
    of_loop("SequenceAt", "SequenceAt (s, i)"),
    of_loop("SequenceErase", "ConcatFromSequence <axis = 0> (r)", more=" r = SequenceErase (s)"),
    of_loop("SequenceInsert", "ConcatFromSequence <axis = 0> (r)", more=" r = SequenceInsert (s, x)"),
    of_loop("SequenceLength", "SequenceLength (s)", "int64"),
]

# Operators on sequences inside of a graph that takes and gives tensors. {T} is the element type, {D} its number.
INSIDE = {
    "ConcatFromSequence": "main ({T}[2] x) => ({T}[4] y) {{ s = SequenceConstruct (x, x) y = ConcatFromSequence <axis = 0> (s) }}",
    "SequenceAt": "main ({T}[2] x) => ({T}[2] y) {{ i = Constant <value = int64 {{0}}> () s = SequenceConstruct (x, x) y = SequenceAt (s, i) }}",
    "SequenceConstruct": "main ({T}[2] x) => ({T}[4] y) {{ s = SequenceConstruct (x, x) y = ConcatFromSequence <axis = 0> (s) }}",
    "SequenceEmpty": "main ({T}[2] x) => ({T}[2] y) {{ e = SequenceEmpty <dtype = {D}> () s = SequenceInsert (e, x) y = ConcatFromSequence <axis = 0> (s) }}",
    "SequenceErase": "main ({T}[2] x) => ({T}[2] y) {{ r = SequenceConstruct (x, x) s = SequenceErase (r) y = ConcatFromSequence <axis = 0> (s) }}",
    "SequenceInsert": "main ({T}[2] x) => ({T}[4] y) {{ r = SequenceConstruct (x) s = SequenceInsert (r, x) y = ConcatFromSequence <axis = 0> (s) }}",
    "SequenceLength": "main ({T}[2] x) => (int64 y) {{ s = SequenceConstruct (x, x) y = SequenceLength (s) }}",
    "SplitToSequence": "main ({T}[4] x) => ({T}[4] y) {{ n = Constant <value = int64[2] {{3, 1}}> () s = SplitToSequence (x, n) y = ConcatFromSequence <axis = 0> (s) }}",
}


def nodes_of(graph):
    """All nodes, those of subgraphs included."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def model_of(text, opset, ir_version, is_strict=True):
    """The model, or None where this opset does not have it. Without `is_strict`, the shapes may contradict each other."""
    try:
        graph = parser.parse_graph(text)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
        onnx.checker.check_model(model)
        return shape_inference.infer_shapes(model, check_type=True, strict_mode=is_strict, data_prop=True)
    except Exception:  # the onnx package raises a family of unrelated types
        return None


def ones(info):
    tensor = info.type.tensor_type
    sizes = [dim.dim_value if dim.HasField("dim_value") else OPEN_SIZE for dim in tensor.shape.dim]
    array = cases.cast_array(np.ones(sizes, np.float32), tensor.elem_type)
    return cases.tensor_of(info.name, tensor.elem_type, array)


def tried(worker, model):
    """What becomes of it: a process may crash of what other models left behind."""
    values = {info.name: ones(info) for info in model.graph.input}
    for _ in range(MOST_TRIES):
        status, why = worker.try_model(model, values)
        if why != CRASHED:
            return status
    return "refused"


def is_refused(worker, model):
    """Always, since a crash may come from what other models left behind."""
    return all(worker.try_model(model, None)[0] == "refused" for _ in range(MOST_TRIES))


class Pairs:
    """The probes of one version of an operator, and what they tell."""

    def __init__(self, worker, schema, opset, ir_version):
        self.worker, self.schema, self.opset, self.ir_version = worker, schema, opset, ir_version

    def conditions(self):
        """Those that a runtime makes."""
        for probe in PROBES:
            if probe.op == self.schema.name and not self.schema.domain and self.makes(probe):
                yield probe.condition

    def makes(self, probe):
        refused = [model for text in probe.refused if (model := model_of(text, self.opset, self.ir_version, is_strict=False))]
        runs = [model for text in probe.runs if (model := model_of(text, self.opset, self.ir_version))]
        if not refused or not runs or not all(is_refused(self.worker, model) for model in refused):
            return False
        return all(tried(self.worker, model) == "runs" for model in runs)

    def inside(self):
        """The entry of an operator on sequences, or None."""
        text = INSIDE.get(self.schema.name)
        if text is None or self.schema.domain:
            return None
        found = {"runs": {}, "refused": {}}
        for element in PASSED_TYPES:
            model = model_of(text.format(T=element, D=onnx.TensorProto.DataType.Value(element.upper())), self.opset, self.ir_version)
            status = tried(self.worker, model) if model else None
            if status in found:
                for constraint, name in self.types(model).items():
                    found[status].setdefault(constraint, set()).add(name)
        if not found["runs"]:
            return None
        refused = {c: sorted(names - found["runs"].get(c, set())) for c, names in sorted(found["refused"].items())}
        types = {c: sorted(names) for c, names in sorted(found["runs"].items())}
        return Entry([self.schema.since_version], types=types, refused={c: names for c, names in refused.items() if names})

    def types(self, model):
        node = next(node for node in nodes_of(model.graph) if node.op_type == self.schema.name)
        return cases.binding(model, self.schema, node)
