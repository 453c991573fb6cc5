"""A model under construction for scripts/random_graphs: values with known types and sizes, and small disturbances that leave the model valid."""
import contextlib
import dataclasses
import math
import random

from onnx import TensorProto, helper

TYPES = {name: getattr(TensorProto, name.upper()) for name in
         ("float", "double", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")}
FEW_BITS = {name: getattr(TensorProto, name.upper()) for name in ("int4", "uint4", "int2", "uint2")}  # of constants
FLOATS = ("float", "double", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
LIMITS = {name: (-(1 << (int(name[3:]) - 1)), (1 << (int(name[3:]) - 1)) - 1) for name in SIGNED}
LIMITS.update({name: (0, (1 << int(name[4:])) - 1) for name in UNSIGNED})
# A divisor may be made so that it is not 0, scales so that they are positive, and filters so that they are finite, which padding would make NaN of.
FIRST_ONLY = ("Conv", "ConvTranspose", "Div", "Resize")
OPSETS = (16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26)


@dataclasses.dataclass(frozen=True)
class Value:
    """`shape` has None where a size is known to the run alone."""
    name: str
    type: str
    shape: tuple

    @property
    def rank(self):
        return len(self.shape)

    @property
    def known(self):
        return None not in self.shape

    @property
    def count(self):
        return math.prod(self.shape)

    @property
    def is_float(self):
        return self.type in FLOATS


class Invalid(Exception):
    """What was drawn does not fit; the caller draws again."""


class Builder:
    """`rate` is how probable a disturbance that changes no value is at each node, `cap` the largest size that is drawn. With
    `is_smooth` small deviations stay small, as narrow types have larger ones."""

    def __init__(self, seed, cap=0, is_smooth=False):
        self.rng = random.Random(seed)
        self.cap, self.is_smooth = cap, is_smooth
        self.rate = self.rng.choice((0, 0, 0.03, 0.08, 0.2))
        self.odd = self.rng.choice((0, 0.05, 0.1, 0.2))  # how probable another constant, axis or operand is
        self.zeros = self.rng.choice((0, 0, 0, 0, 0.02, 0.15))  # how often a size is 0
        self.special = self.rng.random() < 0.1  # infinities, NaN and zeros in what is drawn
        self.opset = self.rng.choice(OPSETS)
        self.sets = [{} for _ in range(self.pick((1, 1, 2)))]  # the data of inputs, of one size in all sets
        self.inputs, self.initializers, self.asked, self.made, self.functions = [], [], [], [], []
        self.more_imports, self.drawn, self.weights, self.around = {}, [], [], []
        self.levels = [[]]
        self.numbers = 0

    # Chances.
    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, choices):
        return self.rng.choice(list(choices))

    def size(self, zero=True):
        size = self.pick(self.drawn) if self.drawn and self.chance(0.4) else self.pick((1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33))
        self.drawn.append(size)
        if zero and self.chance(self.zeros):
            size = 0
        return min(size, self.cap) if self.cap else size

    def long(self):
        """Sizes at which kernels cut their work into blocks, now and then."""
        return self.pick((48, 64, 65, 130, 257)) if not self.cap and self.chance(0.15) else self.size()

    def shape(self, rank=None):
        rank = self.pick((0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6)) if rank is None else rank
        shape = tuple(self.size() for _ in range(rank))
        while math.prod(shape) > 4096:
            at = shape.index(max(shape))
            shape = (*shape[:at], shape[at] // 2, *shape[at + 1:])
        return shape

    def axis(self, axis, rank):
        """The axis, seldom another one, counted from either end."""
        if rank and self.chance(self.odd):
            axis = self.rng.randrange(rank)
        axis %= max(rank, 1)
        return axis - rank if self.chance(0.5) else axis

    def fresh(self):
        self.numbers += 1
        return f"v{self.numbers}"

    # Data.
    def numbers_of(self, type, count, kind):
        rng = self.rng
        if type == "bool":
            return [rng.random() < 0.6 for _ in range(count)]
        if type in INTEGERS:
            low, high = LIMITS[type] if kind == "full" or self.special and rng.random() < 0.3 else (max(LIMITS[type][0], -5), 9)
            return [rng.randint(low, high) for _ in range(count)]
        drawn = [round(rng.gauss(0, 1), 4) for _ in range(count)]
        if kind == "positive":
            return [abs(x) + 0.25 for x in drawn]
        if self.special and kind != "weight":
            odd = (0.0, -0.0, math.inf, -math.inf, math.nan, 1e-3, 100.0, 88.0)
            return [rng.choice(odd) if rng.random() < 0.15 else x for x in drawn]
        return drawn

    def tensor(self, name, type, shape, numbers):
        return helper.make_tensor(name, TYPES.get(type) or FEW_BITS[type], shape, numbers)

    def input(self, type, shape, kind="normal"):
        name = self.fresh()
        declared = [f"n{self.numbers}_{i}" if self.chance(0.1) else size for i, size in enumerate(shape)]
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[type], declared))
        for data in self.sets:
            data[name] = self.tensor(name, type, shape, self.numbers_of(type, math.prod(shape), kind))
        value = Value(name, type, tuple(shape))
        if len(self.levels) == 1 and self.chance(0.02):
            self.asked.append(value)
        return value

    def exact(self, number, type):
        """A scalar of this shape and value."""
        name = self.fresh()
        self.initializers.append(self.tensor(name, type, (), [number]))
        return Value(name, type, ())

    def mask(self, shape, shown=True):
        """Truth values of which the first of each row is `shown`: rows that see nothing are NaN for Softmax and 0 for Attention."""
        return self.truths(shape, lambda at: shown if shape and at % shape[-1] == 0 else self.chance(0.6))

    def rows(self, shape):
        """Truth values, some rows all of one kind."""
        kinds = [self.pick((0, 1, 0.6, 0.6)) for _ in range(max(math.prod(shape[:-1]), 1))]
        return self.truths(shape, lambda at: self.chance(kinds[at // shape[-1] if shape else 0]))

    def truths(self, shape, make):
        value = self.input("bool", shape)
        for data in self.sets:
            data[value.name] = self.tensor(value.name, "bool", shape, [make(at) for at in range(value.count)])
        return value

    def const(self, numbers, type="float", shape=()):
        """A constant as an initializer, as one that is an input too, as a node, or seldom as an input that no pass knows."""
        numbers = list(numbers) if isinstance(numbers, (list, tuple)) else [numbers] * math.prod(shape)
        if self.chance(self.odd) and type != "bool":
            other = self.pick((1.125, 1.125, 0.5, 2, -1))
            numbers = [x + (x < 9) if type in INTEGERS else x * other if abs(x) < 1000 else x for x in numbers]
        if shape == () and self.chance(0.15):
            shape = self.pick(((1,), (1,), (1, 1)))
        name = self.fresh()
        tensor = self.tensor(name, type, shape, numbers)
        form = self.rng.random()
        if form < 0.2:
            self.levels[-1].append(helper.make_node("Constant", [], [name], value=tensor))
        elif form < 0.2 + self.rate / 2:
            self.given(tensor, type)
        else:
            self.initializers.append(tensor)
            if self.chance(0.04):
                self.replaceable(name, type, shape, numbers)
        value = Value(name, type, tuple(shape))
        if form >= 0.2 and len(self.levels) == 1 and self.chance(0.01):
            self.asked.append(value)
        return self.disturbed(value)

    def given(self, tensor, type):
        """A tensor as an input that is the same in all sets."""
        self.inputs.append(helper.make_tensor_value_info(tensor.name, TYPES[type], tensor.dims))
        for data in self.sets:
            data[tensor.name] = tensor

    def replaceable(self, name, type, shape, numbers):
        """An initializer as an input, of which some sets have other numbers."""
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[type], shape))
        for data in self.sets:
            if type in FLOATS and self.chance(0.5):
                data[name] = self.tensor(name, type, shape, [x * 1.5 if abs(x) < 1000 else x for x in numbers])

    def weight(self, type, shape, kind="weight"):
        """Constants, seldom the numbers of another one."""
        count = math.prod(shape)
        known = [numbers for of, numbers in self.weights if of == (type, kind) and len(numbers) >= count]
        numbers = self.pick(known)[:count] if known and self.chance(0.1) else self.numbers_of(type, count, kind)
        self.weights.append(((type, kind), numbers))
        return self.const(numbers, type, tuple(shape))

    def positions(self, numbers, shape, type="int64"):
        name = self.fresh()
        self.initializers.append(self.tensor(name, type, shape, numbers))
        return Value(name, type, tuple(shape))

    def ints(self, numbers):
        """A list of int64 that stays as it is: sizes, axes, positions."""
        name = self.fresh()
        tensor = self.tensor(name, "int64", [len(numbers)], numbers)
        if self.chance(self.rate / 4):
            self.given(tensor, "int64")
        elif self.chance(0.2):
            self.levels[-1].append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
        return Value(name, "int64", (len(numbers),))

    # Nodes.
    def nodes(self, operator, inputs, outputs, domain="", **attributes):
        """`outputs` are pairs of type and shape, None for one that is left out."""
        values = [Value(self.fresh(), *each) if each else None for each in outputs]
        names = [value.name if value else "" for value in inputs]
        while names and not names[-1]:
            names.pop()
        kept = {name: value for name, value in attributes.items() if value is not None}
        self.levels[-1].append(helper.make_node(operator, names, [value.name if value else "" for value in values], domain=domain, **kept))
        if len(self.levels) == 1:
            self.made += [value for value in values if value]
        return values

    def op(self, operator, inputs, type, shape, **attributes):
        if self.odd and len(self.levels) == 1:
            last = 0 if operator in FIRST_ONLY else 9
            inputs = [self.another(value) if value and at <= last and self.chance(self.odd / 3) else value for at, value in enumerate(inputs)]
            self.around = [*self.around, *(value for value in inputs if value)][-24:]
        return self.disturbed(self.nodes(operator, inputs, [(type, tuple(shape))], **attributes)[0])

    def another(self, value):
        """A value of the same type and sizes, which a pattern does not expect here."""
        others = [each for each in self.around if each.type == value.type and each.shape == value.shape and each != value]
        if not value.is_float or not value.known:
            return value
        return self.pick(others) if others and self.chance(0.6) else self.input(value.type, value.shape)

    def disturbed(self, value):
        if not self.chance(self.rate):
            return value
        return self.pick(DISTURBANCES)(self, value)

    @contextlib.contextmanager
    def body(self):
        self.levels.append([])
        yield self.levels[-1]
        self.levels.pop()

    def output(self, *values):
        if len(self.levels) == 1:
            self.asked += [value for value in values if value]

    def model(self):
        nodes = self.levels[0]
        read = names_read(nodes)
        outputs = {}
        for value in self.asked + [value for value in self.made if value.name not in read]:
            outputs.setdefault(value.name, value)
        for value in self.made:
            if value.name in read and self.chance(0.03):
                outputs.setdefault(value.name, value)
        infos = [helper.make_tensor_value_info(v.name, TYPES[v.type], [f"d_{v.name}_{i}" if size is None else size for i, size in enumerate(v.shape)])
                 for v in outputs.values()]
        graph = helper.make_graph(nodes, "random", self.inputs, infos, self.initializers)
        imports = [helper.make_opsetid(*each) for each in {"com.microsoft": 1, **self.more_imports, "": self.opset}.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=self.functions), self.sets


def names_read(nodes):
    names = set()
    for node in nodes:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= names_read(attribute.g.node) | {output.name for output in attribute.g.output}
    return names


# Disturbances: each gives a value of the same type and sizes.
def through_identity(b, v):
    return b.nodes("Identity", [v], [(v.type, v.shape)])[0]


def through_cast(b, v):
    wider = {"float": ("double", "float16", "double"), "float16": ("float", "double"), "bfloat16": ("float",), "double": ("float",), "bool": ("int32", "float")}
    other = b.pick(wider.get(v.type, ("int64", "float", "double")))
    first = b.nodes("Cast", [v], [(other, v.shape)], to=TYPES[other])[0]
    return b.nodes("Cast", [first], [(v.type, v.shape)], to=TYPES[v.type])[0]


def through_transposes(b, v):
    order = b.rng.sample(range(v.rank), v.rank)
    if not order:
        return v
    first = b.nodes("Transpose", [v], [(v.type, tuple(v.shape[i] for i in order))], perm=order)[0]
    return b.nodes("Transpose", [first], [(v.type, v.shape)], perm=[order.index(i) for i in range(v.rank)])[0]


def through_reshapes(b, v):
    if not v.known or not v.count:
        return v
    shape = b.pick(((v.count,), (1, v.count), (v.count, 1), (1, *v.shape)))
    first = b.nodes("Reshape", [v, b.ints(shape)], [(v.type, shape)])[0]
    return b.nodes("Reshape", [first, b.ints(v.shape)], [(v.type, v.shape)])[0]


def with_a_reader(b, v):
    operator = b.pick(("Relu", "Neg", "Abs")) if v.type in ("float", "double") else "Identity"
    b.output(b.nodes(operator, [v], [(v.type, v.shape)])[0])
    return v


def as_an_output(b, v):
    if any(value.name == v.name for value in b.made):
        b.output(v)
    return v


def with_a_neutral_operation(b, v):
    if v.type not in ("float", "double", "int32", "int64"):
        return through_identity(b, v)
    operator, number = b.pick((("Mul", 1), ("Add", 0), ("Sub", 0), ("Div", 1)))
    other = b.positions([number], b.pick(((), (1,), (1, 1))) if v.rank > 1 else (), v.type)
    return b.nodes(operator, [v, other], [(v.type, v.shape)])[0]


def through_dropout(b, v):
    return b.nodes("Dropout", [v], [(v.type, v.shape)])[0] if v.is_float and v.type != "bfloat16" else through_identity(b, v)


def through_slices(b, v):
    """The two parts of an axis, put together again."""
    if not v.known or not v.rank or max(v.shape) < 2:
        return v
    axis = b.pick(i for i, size in enumerate(v.shape) if size > 1)
    cut = b.rng.randrange(1, v.shape[axis])
    parts = []
    for start, end in ((0, cut), (cut, v.shape[axis])):
        shape = (*v.shape[:axis], end - start, *v.shape[axis + 1:])
        parts.append(b.nodes("Slice", [v, b.ints([start]), b.ints([end]), b.ints([axis])], [(v.type, shape)])[0])
    return b.nodes("Concat", parts, [(v.type, v.shape)], axis=axis)[0]


def with_another_operation(b, v):
    """Here the values change."""
    if v.type not in ("float", "double"):
        return through_identity(b, v)
    return b.nodes(b.pick(("Relu", "Neg", "Sigmoid", "Abs", "Tanh")), [v], [(v.type, v.shape)])[0]


DISTURBANCES = (through_identity, through_cast, through_transposes, through_reshapes, with_a_reader, with_a_reader, as_an_output, as_an_output,
                with_a_neutral_operation, through_dropout, through_slices, with_another_operation)
