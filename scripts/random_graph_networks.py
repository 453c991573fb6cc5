"""Longer models for scripts/random_graphs: networks over images, whose order of channels plans change, and values of many readers and operands."""
import math

from onnx import helper

from random_graph_builder import TYPES, Invalid, Value
from random_graph_nodes import (add, batch_normalization, binary, concat, conv, conv_transpose, matmul, mul, pad, pool, quantized, reduce, reshape, slice_of,
                                softmax, split, transpose, unary)
from random_graph_patterns import activation, few_numbers, layer_normalization, tensor

MOST = 6000


def images(b):
    type = b.pick(("float",) * 5 + ("float16", "double"))
    x = tensor(b, type, (b.pick((1, 1, 2)), b.pick((2, 4, 6, 8, 16)), b.pick((3, 4, 6, 8)), b.pick((4, 5, 6, 8))))
    earlier = [x]
    for _ in range(b.rng.randint(3, 9)):
        try:
            y = b.pick(STEPS)(b, x, earlier)
        except Invalid:
            continue
        if y.count > MOST or 0 in y.shape or y.rank != 4:
            continue
        x = y
        earlier.append(x)
    return b.pick((lambda: x, lambda: x, lambda: ending(b, x)))()


def ending(b, x):
    """What classifiers end with."""
    flat = reduce(b, "ReduceMean", x, [2, 3], b.chance(0.5)) if b.chance(0.5) else x
    rows = b.op("Flatten", [flat], x.type, (x.shape[0], math.prod(flat.shape[1:])), axis=1)
    columns = b.pick((3, 10))
    if b.chance(0.5):
        y = b.op("Gemm", [rows, b.weight(x.type, (columns, rows.shape[1])), b.weight(x.type, (columns,))], x.type, (x.shape[0], columns), transB=1)
    else:
        y = matmul(b, rows, b.weight(x.type, (rows.shape[1], columns)))
    return softmax(b, y)


def convolved(b, x, _):
    return activation(b, conv(b, x, b.pick((2, 4, 8, 16)), bias=b.chance(0.6)))


def by_channels(b, x, _):
    return conv(b, x, x.shape[1] * b.pick((1, 1, 2)), group=x.shape[1])


def in_groups(b, x, _):
    if x.shape[1] % 2:
        raise Invalid
    return conv(b, x, b.pick((2, 4)) * 2, group=2)


def normalized(b, x, _):
    return activation(b, batch_normalization(b, x))


def pooled(b, x, _):
    return pool(b, x)


def joined(b, x, earlier):
    fitting = [y for y in earlier if y.shape[0] == x.shape[0] and y.shape[2:] == x.shape[2:]]
    parts = [x, *(b.pick(fitting) for _ in range(b.pick((1, 1, 2))))]
    return concat(b, parts[::b.pick((1, -1))], 1)


def summed(b, x, earlier):
    return add(b, x, b.pick([y for y in earlier if y.shape == x.shape] or [x]))


def parted(b, x, _):
    if x.shape[1] < 2:
        raise Invalid
    cut = b.rng.randrange(1, x.shape[1])
    first, second = split(b, x, 1, [cut, x.shape[1] - cut])
    return b.pick((lambda: concat(b, [activation(b, second), first], 1), lambda: first, lambda: conv(b, second, 4)))()


def padded(b, x, _):
    return pad(b, x)


def shuffled(b, x, _):
    if x.shape[1] % 2:
        raise Invalid
    n, c, h, w = x.shape
    apart = reshape(b, x, (n, 2, c // 2, h, w))
    return reshape(b, transpose(b, apart, (0, 2, 1, 3, 4)), x.shape)


def cropped(b, x, _):
    axis = b.pick((1, 2, 3))
    return slice_of(b, x, axis, *b.pick(((1, None), (0, -1), (-1, None, -1))))


def along_channels(b, x, _):
    """Something over the channels, which are last there."""
    few_numbers(x, [1])
    last = transpose(b, x, (0, 2, 3, 1))
    y = b.pick((lambda: softmax(b, last), lambda: layer_normalization(b, last), lambda: add(b, last, b.weight(x.type, x.shape[1:2])),
                lambda: matmul(b, last, b.weight(x.type, (x.shape[1], 4)))))()
    return transpose(b, y, (0, 3, 1, 2)) if y.rank == 4 else x


def excited(b, x, _):
    mean = reduce(b, "ReduceMean", x, [2, 3]) if b.chance(0.5) else b.op("GlobalAveragePool", [x], x.type, (*x.shape[:2], 1, 1))
    inner = activation(b, conv(b, mean, 2, kernel=[1, 1]))
    if inner.shape[2:] != (1, 1):
        raise Invalid
    return mul(b, x, unary(b, "Sigmoid", conv_of_ones(b, inner, x.shape[1])))


def conv_of_ones(b, x, filters):
    weight = b.weight(x.type, (filters, x.shape[1], 1, 1))
    return b.op("Conv", [x, weight, b.weight(x.type, (filters,))], x.type, (x.shape[0], filters, 1, 1))


def enlarged(b, x, _):
    if b.chance(0.5):
        return conv_transpose(b, x, b.pick((2, 4)))
    shape = (*x.shape[:2], x.shape[2] * 2, x.shape[3] * 2)
    sizes = b.positions([1.0, 1.0, 2.0, 2.0], (4,), "float")
    return b.op("Resize", [x, None, sizes], x.type, shape, mode=b.pick(("nearest", "linear")), coordinate_transformation_mode="asymmetric")


def folded(b, x, _):
    n, c, h, w = x.shape
    if h % 2 or w % 2:
        raise Invalid
    if b.chance(0.5):
        return b.op("SpaceToDepth", [x], x.type, (n, c * 4, h // 2, w // 2), blocksize=2)
    apart = reshape(b, x, (n, c, h // 2, 2, w // 2, 2))
    return reshape(b, transpose(b, apart, (0, 1, 3, 5, 2, 4)), (n, c * 4, h // 2, w // 2))


def leaking(b, x, _):
    return b.op("PRelu", [x, b.weight(x.type, b.pick(((x.shape[1], 1, 1), (1,))))], x.type, x.shape)


def in_steps(b, x, _):
    return quantized(b, x) if x.type == "float" and not b.is_smooth else x


def attended(b, x, _):
    n, c, h, w = x.shape
    rows = transpose(b, reshape(b, x, (n, c, h * w)), (0, 2, 1))
    scores = softmax(b, matmul(b, rows, transpose(b, rows, (0, 2, 1))))
    return reshape(b, transpose(b, matmul(b, scores, rows), (0, 2, 1)), x.shape)


def turned(b, x, _):
    return transpose(b, x, b.pick(((0, 1, 3, 2), (0, 2, 1, 3), (0, 3, 2, 1))))


STEPS = (convolved, convolved, convolved, by_channels, in_groups, normalized, pooled, joined, joined, summed, parted, padded, shuffled, cropped, along_channels,
         excited, enlarged, folded, leaking, in_steps, attended, turned)


def many(b):
    """Sums of many values, values of many readers, and Concat of many parts: more than one step takes."""
    type, shape = b.pick(("float", "float", "float16", "int32")), b.shape(b.pick((1, 2, 3)))
    sources = [tensor(b, type, b.pick((shape, shape, shape[-1:]))) for _ in range(b.rng.randint(2, 6))]
    values = [unary(b, b.pick(("Neg", "Abs", "Sign")), b.pick(sources)) if b.chance(0.7) else b.pick(sources) for _ in range(b.rng.randint(8, 26))]
    whole = [value for value in values if value.shape == shape]
    if len(whole) < 2:
        raise Invalid
    choice = b.rng.randrange(4)
    if choice == 0:
        return concat(b, whole, b.rng.randrange(len(shape)))
    if choice == 1 and type in ("float", "float16"):
        return b.op(b.pick(("Sum", "Max", "Min", "Mean")), values, type, shape)
    result = whole[0]
    for value in values:
        result = binary(b, b.pick(("Add", "Sub", "Max", "Add")), result, value)
        if b.chance(0.05):
            b.output(result)
    return concat(b, [result, *whole[:3]], 0) if choice == 2 else result


def given(b, name, make):
    """Integers as an input, others in each set."""
    numbers = [make() for _ in b.sets]
    for data, each in zip(b.sets, numbers):
        data[name] = b.tensor(name, "int64", (len(each),), each)
    b.inputs.append(helper.make_tensor_value_info(name, TYPES["int64"], (len(numbers[0]),)))
    return Value(name, "int64", (len(numbers[0]),))


def positions(b):
    """Sizes and positions that the run tells, others from run to run: a plan must not keep those of the run before."""
    b.rate, b.odd, b.sets = 0, 0, [{} for _ in range(3)]
    x = tensor(b, b.pick(("float", "float", "int64")), (b.pick((6, 8)), b.pick((4, 6))))
    results = [b.pick(POSITIONS)(b, x) for _ in range(b.pick((1, 2, 3)))]
    for y in results:
        b.output(unary(b, b.pick(("Neg", "Abs")), y))
        if y.is_float and y.rank and b.chance(0.5):
            b.output(softmax(b, y))
    return None


def moving_slice(b, x):
    start = given(b, b.fresh(), lambda: [b.rng.randrange(4)])
    end = b.op("Add", [start, b.ints([2])], "int64", (1,)) if b.chance(0.5) else given(b, b.fresh(), lambda: [b.pick((4, 5, 6, 100))])
    return b.op("Slice", [x, start, end, b.ints([b.pick((0, -2))])], x.type, (None, x.shape[1]))


def chosen_rows(b, x):
    return b.op("Gather", [x, given(b, b.fresh(), lambda: [b.rng.randint(-4, 5) for _ in range(2)])], x.type, (2, x.shape[1]), axis=0)


def counted_rows(b, x):
    start = b.op("Squeeze", [given(b, b.fresh(), lambda: [b.rng.randrange(3)])], "int64", ())
    end = b.op("Add", [start, b.exact(3, "int64")], "int64", ())
    rows = b.op("Range", [start, end, b.exact(1, "int64")], "int64", (None,))
    return b.op("Gather", [x, rows], x.type, (None, x.shape[1]), axis=0)


def along_an_axis(b, x):
    axis = b.op("Squeeze", [given(b, b.fresh(), lambda: [b.pick((0, 1))])], "int64", ())
    return b.op("CumSum", [x, axis], x.type, x.shape)


def triangle(b, x):
    k = b.op("Squeeze", [given(b, b.fresh(), lambda: [b.rng.randint(-2, 2)])], "int64", ())
    return b.op("Trilu", [x, k], x.type, x.shape, upper=b.pick((0, 1)))


def framed(b, x):
    return b.op("Pad", [x, given(b, b.fresh(), lambda: [cut := b.rng.randrange(3), 0, 2 - cut, 1])], x.type, (x.shape[0] + 2, x.shape[1] + 1))


def repeated(b, x):
    return b.op("Tile", [x, given(b, b.fresh(), lambda: [b.pick((1, 2)), b.pick((1, 3))])], x.type, (None, None))


def in_other_rows(b, x):
    return b.op("Reshape", [x, given(b, b.fresh(), lambda: [b.pick((2, 3 if x.shape[0] == 6 else 4, 1)), -1])], x.type, (None, None))


def highest(b, x):
    k = given(b, b.fresh(), lambda: [b.pick((1, 2, 3))])
    return b.nodes("TopK", [x, k], [(x.type, (x.shape[0], None)), ("int64", (x.shape[0], None))], axis=1)[0]


def shared_out(b, x):
    sizes = given(b, b.fresh(), lambda: [cut := b.pick((1, 2, 3)), x.shape[0] - cut])
    return b.pick(b.nodes("Split", [x, sizes], [(x.type, (None, x.shape[1]))] * 2, axis=0))


def spread(b, x):
    size = given(b, b.fresh(), lambda: [b.pick((1, 2)), 1, 1])
    return b.op("Expand", [x, size], x.type, (None, *x.shape))


def replaced_rows(b, x):
    rows = b.op("Unsqueeze", [given(b, b.fresh(), lambda: b.rng.sample(range(x.shape[0]), 2)), b.ints([1])], "int64", (2, 1))
    return b.op("ScatterND", [x, rows, b.weight(x.type, (2, x.shape[1]))], x.type, x.shape)


POSITIONS = (moving_slice, moving_slice, chosen_rows, counted_rows, along_an_axis, triangle, framed, repeated, in_other_rows, highest, shared_out, spread,
             replaced_rows)
NETWORKS = {function.__name__: function for function in (images, many, positions)}
