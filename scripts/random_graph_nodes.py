"""Nodes for scripts/random_graphs: each function adds valid ones to a builder and gives their result."""
import math

from random_graph_builder import TYPES, Invalid


def broadcast(*shapes):
    rank = max(map(len, shapes))
    result = []
    for sizes in zip(*[(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]):
        others = {size for size in sizes if size != 1}
        if len(others) > 1 or (None in others and len(shapes) > 1 and sizes.count(1) != len(sizes) - 1):
            raise Invalid
        result.append(others.pop() if others else 1)
    return tuple(result)


def unary(b, operator, x, type=None, **attributes):
    return b.op(operator, [x], type or x.type, x.shape, **attributes)


def binary(b, operator, x, y, type=None, **attributes):
    if operator in ("Add", "Mul", "Max", "Min") and b.chance(0.5):
        x, y = y, x
    return b.op(operator, [x, y], type or x.type, broadcast(x.shape, y.shape), **attributes)


def add(b, x, y):
    return binary(b, "Add", x, y)


def mul(b, x, y):
    return binary(b, "Mul", x, y)


def scaled(b, x, number):
    """x times a number, perhaps as a quotient."""
    if b.chance(0.3) and number:
        return binary(b, "Div", x, b.const(1 / number, x.type))
    return mul(b, x, b.const(number, x.type))


def cast(b, x, type):
    return b.op("Cast", [x], type, x.shape, to=TYPES[type])


def where(b, condition, x, y):
    return b.op("Where", [condition, x, y], x.type, broadcast(condition.shape, x.shape, y.shape))


def clip(b, x, low, high):
    """Under infinities a bound that is left out is the largest number of the type, with which nothing can be computed."""
    if b.special:
        low, high = 0 if low is None else low, 1 if high is None else high
    bounds = [None if number is None else b.const(number, x.type) for number in (low, high)]
    if any(bound and bound.shape for bound in bounds):
        return x
    return b.op("Clip", [x, *bounds], x.type, x.shape)


def transpose(b, x, order=None):
    if not x.rank or order is None and b.chance(0.3):
        return b.op("Transpose", [x], x.type, x.shape[::-1])
    order = list(order) if order is not None else b.rng.sample(range(x.rank), x.rank)
    return b.op("Transpose", [x], x.type, tuple(x.shape[i] for i in order), perm=order)


def reshape(b, x, shape):
    if not x.known or not x.count:
        raise Invalid
    written = list(shape)
    for at, size in enumerate(shape):
        if at < x.rank and size == x.shape[at] and b.chance(0.1):
            written[at] = 0
    if written and b.chance(0.3):
        written[b.rng.randrange(len(written))] = -1
    return b.op("Reshape", [x, b.ints(written)], x.type, tuple(shape))


def unsqueeze(b, x, axes):
    shape = list(x.shape)
    for axis in sorted(axes):
        shape.insert(axis, 1)
    signed = [axis - len(shape) if b.chance(0.3) else axis for axis in axes]
    return b.op("Unsqueeze", [x, b.ints(signed)], x.type, tuple(shape))


def squeeze(b, x, axes):
    shape = tuple(size for i, size in enumerate(x.shape) if i not in axes)
    if len(axes) == x.shape.count(1) and x.known and b.chance(0.3):
        return b.op("Squeeze", [x], x.type, shape)
    return b.op("Squeeze", [x, b.ints([axis - x.rank if b.chance(0.3) else axis for axis in axes])], x.type, shape)


def expand(b, x, shape):
    wanted = broadcast(x.shape, shape)
    return b.op("Expand", [x, b.ints(shape if b.chance(0.5) else wanted)], x.type, wanted)


def slice_of(b, x, axis, start, end, step=1):
    """Positions are those of Python, behind the end where `end` is None."""
    size = x.shape[axis]
    if size is None:
        raise Invalid
    count = len(range(*slice(start, end, step).indices(size)))
    last = end if end is not None else (1 << 62 if step > 0 else -(1 << 62))
    lists = [[start], [last], [axis - x.rank if b.chance(0.3) else axis]] + ([[step]] if step != 1 or b.chance(0.3) else [])
    return b.op("Slice", [x, *map(b.ints, lists)], x.type, (*x.shape[:axis], count, *x.shape[axis + 1:]))


def random_slice(b, x):
    axis = b.rng.randrange(x.rank)
    size = x.shape[axis] or 0
    step = b.pick((1, 1, 1, 2, -1, -2, 3))
    start, end = b.rng.randint(-size - 1, size + 1), b.pick((None, b.rng.randint(-size - 1, size + 1)))
    return slice_of(b, x, axis, max(start, -size) if step < 0 else start, end, step)


def concat(b, values, axis):
    shape = list(values[0].shape)
    sizes = [value.shape[axis] for value in values]
    shape[axis] = None if None in sizes else sum(sizes)
    return b.op("Concat", values, values[0].type, tuple(shape), axis=axis - len(shape) if b.chance(0.3) else axis)


def split(b, x, axis, sizes):
    axis_written = axis - x.rank if b.chance(0.3) else axis
    outputs = [(x.type, (*x.shape[:axis], size, *x.shape[axis + 1:])) for size in sizes]
    return [b.disturbed(v) for v in b.nodes("Split", [x, b.ints(sizes)], outputs, axis=axis_written)]


def pad(b, x):
    mode = b.pick(("constant", "constant", "reflect", "edge", "wrap") if b.opset >= 19 else ("constant", "constant", "reflect", "edge"))
    if not x.known or not x.count or x.type == "bool" and b.opset < 13:
        raise Invalid
    begin, end = [], []
    for size in x.shape:
        room = 2 if mode == "constant" else min(2, size - 1)
        low = 0 if mode != "constant" else -min(1, (size - 1) // 2)
        begin.append(b.pick((0, b.rng.randint(low, room))))
        end.append(b.pick((0, b.rng.randint(low, room))))
    inputs = [x, b.ints(begin + end)]
    if mode == "constant" and b.chance(0.5):
        fill = b.const(b.pick((0, 1, 2)), x.type)
        inputs += [fill] if fill.shape == () else []
    return b.op("Pad", inputs, x.type, tuple(map(sum, zip(x.shape, begin, end))), mode=mode)


def reduced_shape(shape, axes, keep):
    return tuple(1 if i in axes else size for i, size in enumerate(shape) if keep or i not in axes)


def reduce(b, operator, x, axes, keep=True):
    """`axes` None: all of them."""
    over = set(range(x.rank)) if axes is None else {axis % x.rank for axis in axes}
    shape = reduced_shape(x.shape, over, keep)
    if operator == "ReduceProd" and math.prod(x.shape[axis] or 1 for axis in over) > 40:
        raise Invalid  # too large or too small on the way, in one order or another
    if axes is None:
        return b.op(operator, [x], x.type, shape, keepdims=int(keep))
    if b.opset >= 18 or operator == "ReduceSum":
        return b.op(operator, [x, b.ints(axes)], x.type, shape, keepdims=int(keep))
    return b.op(operator, [x], x.type, shape, axes=axes, keepdims=int(keep))


def matmul_shape(x, y):
    if x.rank == 0 or y.rank == 0:
        raise Invalid
    left, right = (1, *x.shape) if x.rank == 1 else x.shape, (*y.shape, 1) if y.rank == 1 else y.shape
    if left[-1] != right[-2]:
        raise Invalid
    shape = broadcast(left[:-2], right[:-2])
    return (*shape, *left[-2:-1] * (x.rank > 1), *right[-1:] * (y.rank > 1))


def matmul(b, x, y):
    return b.op("MatMul", [x, y], x.type, matmul_shape(x, y))


def conv(b, x, filters, kernel=None, group=1, bias=True, **attributes):
    """x is [n, c, spatial ...]; everything that is not said is drawn."""
    spatial = x.rank - 2
    if spatial < 1 or not x.known or 0 in x.shape or x.shape[1] % group:
        raise Invalid
    kernel = kernel or [b.pick([k for k in (1, 1, 2, 3, 3) if k <= size]) for size in x.shape[2:]]
    strides = [b.pick((1, 1, 1, 2)) for _ in range(spatial)]
    dilations = [b.pick((1, 1, 1, 2)) if (k - 1) * 2 + 1 <= size else 1 for k, size in zip(kernel, x.shape[2:])]
    pads = [b.pick((0, 0, k // 2, 1)) for k in kernel] if b.chance(0.7) else [0] * spatial
    ends = list(pads) if b.chance(0.7) else [b.pick((0, 1)) for _ in pads]
    sizes = [(size + p + e - ((k - 1) * d + 1)) // s + 1 for size, p, e, k, d, s in zip(x.shape[2:], pads, ends, kernel, dilations, strides)]
    if min(sizes) < 1:
        raise Invalid
    weight = b.weight(x.type, (filters, x.shape[1] // group, *kernel))
    inputs = [x, weight] + ([b.weight(x.type, (filters,))] if bias else [])
    return b.op("Conv", inputs, x.type, (x.shape[0], filters, *sizes), group=group, strides=strides, dilations=dilations, pads=pads + ends, **attributes)


def conv_transpose(b, x, filters):
    spatial = x.rank - 2
    if spatial < 1 or not x.known or 0 in x.shape:
        raise Invalid
    kernel, strides = [b.pick((1, 2, 3)) for _ in range(spatial)], [b.pick((1, 2, 3)) for _ in range(spatial)]
    pads = [b.rng.randrange(k) for k in kernel]
    extra = [b.pick((0, s - 1)) for s in strides]
    sizes = [s * (n - 1) + k - 2 * p + e for n, k, s, p, e in zip(x.shape[2:], kernel, strides, pads, extra)]
    if min(sizes) < 1:
        raise Invalid
    inputs = [x, b.weight(x.type, (x.shape[1], filters, *kernel))] + ([b.weight(x.type, (filters,))] if b.chance(0.5) else [])
    return b.op("ConvTranspose", inputs, x.type, (x.shape[0], filters, *sizes), strides=strides, pads=pads * 2, output_padding=extra)


def pool(b, x):
    spatial = x.rank - 2
    if spatial < 1 or not x.known or 0 in x.shape:
        raise Invalid
    operator = b.pick(("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"))
    if operator.startswith("Global"):
        return b.op(operator, [x], x.type, (*x.shape[:2], *[1] * spatial))
    kernel = [b.rng.randint(1, min(3, size)) for size in x.shape[2:]]
    strides = [b.pick((1, 2)) for _ in kernel]
    pads = [b.rng.randrange(k) if b.chance(0.3) else 0 for k in kernel]
    sizes = [(size + 2 * p - k) // s + 1 for size, k, s, p in zip(x.shape[2:], kernel, strides, pads)]
    more = {"count_include_pad": b.pick((0, 1))} if operator == "AveragePool" else {}
    return b.op(operator, [x], x.type, (*x.shape[:2], *sizes), kernel_shape=kernel, strides=strides, pads=pads * 2, **more)


def batch_normalization(b, x):
    c = x.shape[1]
    inputs = [x, b.weight(x.type, (c,)), b.weight(x.type, (c,)), b.weight(x.type, (c,)), b.weight(x.type, (c,), "positive")]
    return b.op("BatchNormalization", inputs, x.type, x.shape, epsilon=b.pick((1e-5, 1e-3)))


def softmax(b, x, axis=-1, operator="Softmax"):
    return b.op(operator, [x], x.type, x.shape, axis=b.axis(axis, x.rank))


def gather(b, x, axis=None, indices=None):
    axis = b.rng.randrange(x.rank) if axis is None else axis
    size = x.shape[axis]
    if not size:
        raise Invalid
    if indices is None:
        shape = b.pick(((), (1,), (3,), (2, 2)))
        indices = b.positions([b.rng.randint(-size, size - 1) for _ in range(math.prod(shape))], shape, b.pick(("int64", "int32")))
    return b.op("Gather", [x, indices], x.type, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]), axis=axis - x.rank if b.chance(0.3) else axis)


def top_k(b, x):
    axis = b.rng.randrange(x.rank)
    if not x.shape[axis]:
        raise Invalid
    k = b.rng.randint(1, x.shape[axis])
    shape = (*x.shape[:axis], k, *x.shape[axis + 1:])
    values, places = b.nodes("TopK", [x, b.ints([k])], [(x.type, shape), ("int64", shape)], axis=axis, largest=b.pick((0, 1)))
    return b.disturbed(values), places


def quantize(b, x, type="uint8", scale=None, zero=None):
    scale = b.const(b.pick((0.02, 0.05, 0.1)) if scale is None else scale, x.type)
    zero = b.const(b.rng.randint(*((-10, 10) if type == "int8" else (100, 140))) if zero is None else zero, type)
    if scale.shape != zero.shape or scale.rank > 1:
        raise Invalid
    zero = None if type == "uint8" and b.chance(0.15) else zero
    return b.op("QuantizeLinear", [x, scale, zero], type, x.shape), scale, zero


def dequantize(b, q, scale, zero):
    return b.op("DequantizeLinear", [q, scale, zero], scale.type, q.shape)


def quantized(b, x, type=None):
    """x through QuantizeLinear and DequantizeLinear."""
    return dequantize(b, *quantize(b, x, type or b.pick(("uint8", "int8"))))
