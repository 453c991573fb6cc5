"""Random graphs of valid nodes, for scripts/random_graphs."""
import math

from random_graph_bodies import branch, growing, loop, scan
from random_graph_builder import FLOATS, Invalid
from random_graph_nodes import (batch_normalization, binary, broadcast, cast, clip, concat, conv, conv_transpose, expand, gather, matmul, pad, pool as pooled, quantized,
                                random_slice, reduce, reshape, softmax, split, squeeze, top_k, transpose, unary, unsqueeze, where)
from random_graph_patterns import few_numbers, gelu, hard_swish, layer_normalization, rms_normalization, swish

REAL_UNARY = ("Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Abs", "Neg", "Erf", "Floor", "Ceil", "Round", "Softplus", "Softsign", "Elu", "Selu", "LeakyRelu",
              "HardSigmoid", "HardSwish", "Sin", "Cos", "Atan", "Sign", "Celu", "Mish", "Gelu", "Identity", "Swish", "Log",
              "Reciprocal")
STEEP = ("Floor", "Ceil", "Round", "Sign", "Hardmax")  # where a small deviation becomes a large one
SINCE = {"Mish": 18, "Gelu": 20, "Swish": 24}
SMALLEST_OF_FLOATS = ("float", "double", "float16")  # what operators take that have no bfloat16 in older versions
REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")


def chosen(pool, test):
    found = [value for value in pool if test(value)]
    if not found:
        raise Invalid
    return found


def pick(b, pool, test=lambda value: True):
    """Later values more often."""
    found = chosen(pool, test)
    return found[max(b.rng.randrange(len(found)), b.rng.randrange(len(found)))]


def partner(b, pool, x):
    """Something that can stand beside x: another value that broadcasts, or a constant."""
    fitting = []
    for value in pool:
        try:
            if value.type == x.type and value.known and x.known and math.prod(broadcast(value.shape, x.shape)) <= 8192:
                fitting.append(value)
        except Invalid:
            continue
    if fitting and b.chance(0.7):
        return b.pick(fitting)
    if not x.known:
        return b.weight(x.type, ())
    shape = b.pick((x.shape, x.shape[-1:], (), (1,) * x.rank, tuple(size if b.chance(0.5) else 1 for size in x.shape)))
    return b.weight(x.type, shape)


def real_unary(b, pool):
    x = pick(b, pool, lambda v: v.type in SMALLEST_OF_FLOATS)
    operator = b.pick(name for name in REAL_UNARY if SINCE.get(name, 0) <= b.opset)
    if operator == "Celu" and x.type != "float" or operator in STEEP and b.is_smooth:
        raise Invalid
    if operator in ("Log", "Sqrt", "Reciprocal"):
        x = binary(b, "Add", unary(b, "Abs", x), b.exact(0.5, x.type))
    return unary(b, operator, x)


def arithmetic(b, pool):
    x = pick(b, pool, lambda v: v.type in FLOATS + ("int32", "int64"))
    y = partner(b, pool, x)
    if x.type == "bfloat16" and b.opset < 15:
        raise Invalid
    operator = b.pick(("Add", "Add", "Sub", "Mul", "Mul", "Div", "Max", "Min"))
    if operator == "Div" and x.is_float:  # 0 and -0 differ here, and Max takes either
        if y.type not in SMALLEST_OF_FLOATS:
            raise Invalid
        return binary(b, operator, x, binary(b, "Add", unary(b, "Abs", y), b.exact(0.5, y.type)))
    return binary(b, operator, *((x, y) if b.chance(0.6) else (y, x)))


def other_arithmetic(b, pool):
    choice = b.rng.randrange(5)
    if choice == 0:
        x = pick(b, pool, lambda v: v.type in ("int32", "int64", "uint8", "int8"))
        return binary(b, "Mod", x, partner(b, pool, x), fmod=b.pick((0, 1)))
    if choice == 1:
        x = pick(b, pool, lambda v: v.type in ("float", "double"))
        return binary(b, "Pow", unary(b, "Abs", x), b.const(b.pick((2, 0.5, 3, -1, 0)), x.type))
    if choice == 2:
        x = pick(b, pool, lambda v: v.type in ("float", "double", "float16"))
        return clip(b, x, b.pick((None, -1, 0)), b.pick((None, 1, 6)))
    if choice == 3:
        x = pick(b, pool, lambda v: v.type in ("float", "double") and v.rank > 0 and v.known)
        return b.op("PRelu", [x, b.weight(x.type, b.pick((x.shape[-1:], (1,) * x.rank)))], x.type, x.shape)
    x = pick(b, pool, lambda v: v.type in ("uint8", "int32", "int64"))
    if b.opset < 18:
        raise Invalid
    return binary(b, b.pick(("BitwiseAnd", "BitwiseOr", "BitwiseXor")), x, partner(b, pool, x))


def comparison(b, pool):
    if b.is_smooth:
        raise Invalid
    x = pick(b, pool, lambda v: v.type in ("float", "double", "int32", "int64", "float16"))
    return binary(b, b.pick(("Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual")), x, partner(b, pool, x), "bool")


def logic(b, pool):
    x = pick(b, pool, lambda v: v.type == "bool")
    return unary(b, "Not", x) if b.chance(0.3) else binary(b, b.pick(("And", "Or", "Xor")), x, partner(b, pool, x))


def choice(b, pool):
    x = pick(b, pool, lambda v: v.type in FLOATS + ("int64", "int32", "uint8", "bool") and v.known)
    condition = b.pick([v for v in pool if v.type == "bool" and v.shape == x.shape] + [b.input("bool", b.pick((x.shape, x.shape[-1:], ())))])
    y = partner(b, pool, x)
    return where(b, condition, *((x, y) if b.chance(0.5) else (y, x)))


def conversion(b, pool):
    x = pick(b, pool, lambda v: not (b.is_smooth and v.is_float))
    return cast(b, x, b.pick(("float", "float", "double", "float16", "bfloat16", "int32", "int64", "int8", "uint8", "bool")))


def moved(b, pool):
    x = pick(b, pool, lambda v: v.rank > 0)
    steps = [transpose, some_reshape, some_unsqueeze, some_squeeze, random_slice, gather, some_concat, some_split, pad, some_expand, tile]
    y = b.pick(steps)(b, x)
    if y.known and y.count > 8192:
        raise Invalid
    return y


def some_reshape(b, x):
    if not x.known or not x.count:
        raise Invalid
    shapes = [(x.count,), (1, x.count), (*x.shape, 1)]
    if x.rank > 1:
        shapes += [(x.shape[0] * x.shape[1], *x.shape[2:]), (*x.shape[:-2], x.shape[-1], x.shape[-2])]
    halves = [i for i, size in enumerate(x.shape) if size % 2 == 0]
    if halves:
        at = b.pick(halves)
        shapes += [(*x.shape[:at], 2, x.shape[at] // 2, *x.shape[at + 1:])]
    return reshape(b, x, b.pick(shapes))


def some_unsqueeze(b, x):
    return unsqueeze(b, x, [b.rng.randint(0, x.rank)])


def some_squeeze(b, x):
    return squeeze(b, x, [b.pick([i for i, size in enumerate(x.shape) if size == 1])]) if 1 in x.shape else some_unsqueeze(b, x)


def some_concat(b, x):
    axis = b.rng.randrange(x.rank)
    parts = [x, x if b.chance(0.3) else transpose(b, x, range(x.rank)), *([b.weight(x.type, x.shape)] if x.known and b.chance(0.5) else [])]
    b.rng.shuffle(parts)
    return concat(b, parts, axis)


def some_split(b, x):
    axis = b.rng.randrange(x.rank)
    if not x.shape[axis] or x.shape[axis] < 2:
        raise Invalid
    cut = b.rng.randint(0 if b.chance(0.1) else 1, x.shape[axis] - 1)
    return b.pick(split(b, x, axis, [cut, x.shape[axis] - cut]))


def some_expand(b, x):
    if not x.known:
        raise Invalid
    return expand(b, x, tuple(b.pick((1, 2, 3)) if size == 1 else size for size in x.shape) if b.chance(0.7) else (2, *x.shape))


def tile(b, x):
    if not x.known:
        raise Invalid
    times = [b.pick((1, 1, 2, 3)) for _ in x.shape]
    return b.op("Tile", [x, b.ints(times)], x.type, tuple(size * n for size, n in zip(x.shape, times)))


def reduction(b, pool):
    x = pick(b, pool, lambda v: v.type in ("float", "double", "float16", "int32", "int64") and v.rank and (not v.known or v.count))
    axes = b.rng.sample(range(x.rank), b.rng.randint(1, x.rank))
    if b.chance(0.15):
        axis = axes[0]
        if not x.shape[axis] or b.is_smooth and x.is_float:
            raise Invalid
        keep = b.chance(0.5)
        shape = tuple(1 if i == axis else size for i, size in enumerate(x.shape) if keep or i != axis)
        return b.op(b.pick(("ArgMax", "ArgMin")), [x], "int64", shape, axis=axis, keepdims=int(keep), select_last_index=b.pick((0, 1)))
    operator = b.pick(REDUCTIONS if x.is_float else ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1"))
    return reduce(b, operator, x, axes if b.chance(0.9) else None, b.chance(0.6))


def along_an_axis(b, pool):
    x = pick(b, pool, lambda v: v.type in ("float", "double", "float16") and v.rank and v.known and v.count)
    choice = b.rng.randrange(5)
    if choice <= 1:
        operator = b.pick(("Softmax", "Softmax", "LogSoftmax", "Hardmax"))
        return softmax(b, x, b.rng.randrange(x.rank), "Softmax" if b.is_smooth else operator)
    if choice == 2:
        if b.opset < 17:
            raise Invalid
        axis = b.pick((-1, -1, 0, x.rank - 1))
        shape = x.shape[axis % x.rank:]
        few_numbers(x, range(axis % x.rank, x.rank))
        inputs = [x, b.weight(x.type, shape)] + ([b.weight(x.type, shape)] if b.chance(0.6) else [])
        return b.op("LayerNormalization", inputs, x.type, x.shape, axis=axis)
    if choice == 3:
        axis = b.exact(b.rng.randrange(x.rank), "int64")
        return b.op("CumSum", [x, axis], x.type, x.shape, exclusive=b.pick((0, 1)), reverse=b.pick((0, 1)))
    return top_k(b, x)[0 if b.is_smooth else b.pick((0, 0, 1))]


def product(b, pool):
    x = pick(b, pool, lambda v: v.type in ("float", "float", "double", "float16") and 0 < v.rank and v.known and v.count)
    others = [v for v in pool if v.type == x.type and v.known and v.rank > 1 and v.shape[-2] == x.shape[-1] and v.rank == 2]
    y = b.pick(others) if others and b.chance(0.5) else b.weight(x.type, (x.shape[-1], b.size(zero=False)))
    return matmul(b, x, y)


def image(b, pool):
    x = pick(b, pool, lambda v: v.type in ("float", "float", "double", "float16") and v.rank in (3, 4) and v.known and v.count)
    choice = b.rng.randrange(5)
    if choice <= 1:
        return conv(b, x, b.pick((1, 2, 4, 8)), bias=b.chance(0.5))
    if choice == 2:
        return conv_transpose(b, x, b.pick((1, 3)))
    return pooled(b, x) if choice == 3 else batch_normalization(b, x)


def quantization(b, pool):
    if b.is_smooth:
        raise Invalid
    return quantized(b, pick(b, pool, lambda v: v.type == "float"))


def data_sizes(b, pool):
    """Sizes that only the run knows."""
    x = pick(b, pool, lambda v: v.type in ("float", "bool", "int32", "int64") and v.rank and v.known)
    if b.chance(0.4):
        condition = b.input("bool", (x.shape[0],))
        return b.op("Compress", [x, condition], x.type, (None, *x.shape[1:]), axis=0)
    if x.is_float:  # whose zeros may hang on rounding
        raise Invalid
    places = b.op("NonZero", [x], "int64", (x.rank, None))
    if b.chance(0.5):
        return places
    rows = b.op("Transpose", [places], "int64", (None, x.rank), perm=[1, 0])
    return b.op("GatherND", [x, rows], x.type, (None,))


def pattern(b, pool):
    x = pick(b, pool, lambda v: v.type in ("float", "float", "double", "float16") and v.known and v.rank > 1)
    return b.pick((gelu, swish, hard_swish, layer_normalization, rms_normalization))(b, x)


def scattered(b, pool):
    x = pick(b, pool, lambda v: v.type in ("float", "int64", "float16", "bool") and v.rank and v.known and v.count)
    axis = b.rng.randrange(x.rank)
    if b.chance(0.5):
        places = b.positions([b.rng.randint(-x.shape[axis], x.shape[axis] - 1) for _ in range(x.count)], x.shape)
        return b.op("GatherElements", [x, places], x.type, x.shape, axis=axis)
    count = b.rng.randint(1, x.shape[0])
    indices = b.ints(b.rng.sample(range(x.shape[0]), count))
    updates = b.weight(x.type, (count, *x.shape[1:]))
    return b.op("ScatterND", [x, unsqueeze(b, indices, [1]), updates], x.type, x.shape)


def one_hot(b, pool):
    x = pick(b, pool, lambda v: v.type == "int64" and v.known and v.rank < 4 and v.count < 500)
    values = b.positions([0.0, 1.0], (2,), "float")
    return b.op("OneHot", [x, b.exact(5, "int64"), values], "float", (*x.shape, 5), axis=-1)


STEPS = (real_unary,) * 4 + (arithmetic,) * 5 + (other_arithmetic, comparison, logic) + (choice,) * 2 + (conversion,) * 2 + (moved,) * 8 + \
    (reduction,) * 3 + (along_an_axis,) * 2 + (product,) * 2 + (image,) * 2 + (quantization, data_sizes, pattern, scattered, one_hot, branch, growing, loop,
     scan)


def graph(b):
    pool = []
    base = b.shape(b.pick((2, 3, 3, 4, 4)))
    main = b.pick(("float",) * 7 + ("double", "float16", "bfloat16"))
    for _ in range(b.rng.randint(1, 4)):
        shape = base if b.chance(0.6) else b.pick((base[-1:], (*base[:-1], 1), (1,) * len(base), b.shape()))
        pool.append(b.input(b.pick((main,) * 8 + ("float", "double", "float16", "int64", "int32", "bool", "uint8", "int8")), shape))
    wanted, attempts = b.rng.randint(2, 14), 200
    while wanted and attempts:
        attempts -= 1
        level = len(b.levels[0])
        try:
            value = b.pick(STEPS)(b, pool)
        except Invalid:
            continue
        if value.known and value.count > 20000:
            break
        pool.append(value)
        wanted -= len(b.levels[0]) > level
    return None
