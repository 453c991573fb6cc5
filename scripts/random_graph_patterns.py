"""Patterns that passes over plans recognise, for scripts/random_graphs: constants, axes, types and orders are drawn, most often those that a pass wants."""
import math

from random_graph_builder import Invalid
from random_graph_nodes import (add, batch_normalization, binary, cast, clip, concat, conv, conv_transpose, dequantize, expand, gather, matmul, mul, pool,
                                quantized, random_slice, reduce, reshape, scaled, slice_of, softmax, split, squeeze, transpose, unary, unsqueeze, where)


def real(b):
    return b.pick(("float",) * 6 + ("double", "float16", "bfloat16"))


def tensor(b, type, shape, kind="normal"):
    """An input, seldom a constant, seldom behind something that passes join."""
    if b.inputs and b.chance(0.05) and type in ("float", "double"):
        return b.weight(type, shape)
    x = b.input(type, shape, kind)
    if type in ("float", "double") and b.chance(0.15):
        return unary(b, b.pick(("Relu", "Neg", "Tanh", "Identity")), x)
    return transpose(b, transpose(b, x, range(x.rank)[::-1]), range(x.rank)[::-1]) if b.chance(0.05) else x


def activation(b, x):
    choice = b.pick(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "clip", "gelu", "swish", "hard_swish", "none", "none"))
    if choice in ("gelu", "swish", "hard_swish"):
        return {"gelu": gelu, "swish": swish, "hard_swish": hard_swish}[choice](b, x)
    if choice == "clip":
        return clip(b, x, b.pick((0, -1, None)), b.pick((6, 1, None)))
    if choice == "LeakyRelu":
        return unary(b, choice, x, alpha=0.1)
    return x if choice == "none" else unary(b, choice, x)


def gelu(b, x=None):
    x = x or tensor(b, real(b), b.shape())
    if b.chance(0.5):
        inner = add(b, unary(b, "Erf", scaled(b, x, math.sqrt(0.5))), b.const(1, x.type))
    else:
        cube = binary(b, "Pow", x, b.const(3, x.type)) if b.chance(0.5) else mul(b, mul(b, x, x), x)
        argument = scaled(b, add(b, x, scaled(b, cube, 0.044715)), math.sqrt(2 / math.pi))
        inner = add(b, unary(b, "Tanh", argument), b.const(1, x.type))
    order = b.rng.randrange(3)
    if order == 0:
        return scaled(b, mul(b, x, inner), 0.5)
    return mul(b, scaled(b, x, 0.5), inner) if order == 1 else mul(b, x, scaled(b, inner, 0.5))


def swish(b, x=None):
    x = x or tensor(b, real(b), b.shape())
    gate = unary(b, "Sigmoid", scaled(b, x, 1.702) if b.chance(0.4) else x)
    if b.chance(0.2):
        return add(b, mul(b, x, gate), gate)
    return mul(b, x, gate)


def hard_swish(b, x=None):
    x = x or tensor(b, real(b), b.shape())
    if x.type != "bfloat16" and b.chance(0.3):
        return mul(b, x, unary(b, "HardSigmoid", x, alpha=1 / 6, beta=0.5))
    bounded = clip(b, add(b, x, b.const(3, x.type)), 0, 6)
    if b.chance(0.2):
        bounded = binary(b, "Min", binary(b, "Max", add(b, x, b.const(3, x.type)), b.const(0, x.type)), b.const(6, x.type))
    factor = b.rng.randrange(3)
    if factor == 0:
        return scaled(b, bounded, 1 / 6)
    return scaled(b, mul(b, x, bounded), 1 / 6) if factor == 1 else mul(b, x, scaled(b, bounded, 1 / 6))


def other_axes(b, x, axes):
    """The same axes, seldom others."""
    return [b.axis(axes[0], x.rank)] if b.chance(b.odd) else axes


def few_numbers(x, axes):
    """One or two numbers become 0 or 1 and -1 whatever they are, which leaves their rounding no room."""
    if math.prod(x.shape[axis] for axis in axes) in (1, 2):
        raise Invalid


def layer_normalization(b, x=None):
    x = x or tensor(b, real(b), b.shape(b.pick((2, 3, 3, 4))))
    axes = [b.axis(-1, x.rank)] if b.chance(0.8) else [-2, -1]
    few_numbers(x, axes)
    mean = reduce(b, "ReduceMean", x, other_axes(b, x, axes))
    centred = binary(b, "Sub", x, mean)
    second = centred if b.chance(0.8) else binary(b, "Sub", x, mean)
    square = binary(b, "Pow", second, b.const(2, x.type)) if b.chance(0.5) else mul(b, second, centred)
    spread = unary(b, "Sqrt", add(b, reduce(b, "ReduceMean", square, other_axes(b, x, axes)), b.const(1e-3 if x.type == "float16" else 1e-5, x.type)))
    result = binary(b, "Div", centred, spread) if b.chance(0.7) else mul(b, centred, unary(b, "Reciprocal", spread))
    shape = (x.shape[-1],) if b.chance(0.8) else b.pick((x.shape[-2:], (x.shape[-2], 1), (1,), ()))
    if b.chance(0.8):
        result = mul(b, result, b.weight(x.type, shape))
    return add(b, result, b.weight(x.type, shape)) if b.chance(0.8) else result


def rms_normalization(b, x=None):
    x = x or tensor(b, real(b), b.shape(b.pick((2, 3, 3, 4))))
    inner = cast(b, x, "float") if x.type != "float" and b.chance(0.7) else x
    axes = [b.axis(-1, x.rank)]
    few_numbers(x, axes)
    square = binary(b, "Pow", inner, b.const(2, inner.type)) if b.chance(0.5) else mul(b, inner, inner)
    mean = add(b, reduce(b, "ReduceMean", square, axes), b.const(1e-3 if inner.type == "float16" else 1e-6, inner.type))
    if b.chance(0.5):
        result = binary(b, "Div", inner, unary(b, "Sqrt", mean))
    elif b.chance(0.7):
        result = mul(b, inner, unary(b, "Reciprocal", unary(b, "Sqrt", mean)))
    else:
        result = mul(b, inner, binary(b, "Pow", mean, b.const(-0.5, inner.type)))
    result = cast(b, result, x.type) if inner is not x else result
    return mul(b, result, b.weight(x.type, (x.shape[-1],) if b.chance(0.8) else (1, x.shape[-1]))) if b.chance(0.8) else result


def scaled_softmax(b):
    x = tensor(b, real(b), b.shape(b.pick((2, 3, 4))))
    scores = scaled(b, x, b.pick((0.125, 0.5, 2, -1))) if b.chance(0.7) else x
    shape = b.pick((x.shape, x.shape[-1:], (*x.shape[:-1], 1), (1, *x.shape[1:]), (x.shape[-2], 1)))
    if b.chance(0.5):
        scores = add(b, scores, tensor(b, x.type, shape))
    elif b.chance(0.6):
        low = b.pick((-math.inf, -65504 if x.type == "float16" else -1e30, -1e4))
        scores = hidden_scores(b, scores, shape, low)
    result = softmax(b, scores, operator=b.pick(("Softmax", "Softmax", "LogSoftmax")))
    if b.chance(0.2):
        result = where(b, unary(b, "IsNaN", result, "bool"), b.const(0, x.type), result)
    if b.chance(0.3) and result.rank >= 2:
        return matmul(b, result, tensor(b, x.type, (result.shape[-1], b.size())))
    return result


def hidden_scores(b, scores, shape, low):
    """With a finite low number rows may be hidden as a whole: all keys weigh the same then."""
    if math.isfinite(low) and b.chance(0.5):
        seen = b.rows(shape)
        return where(b, seen, *((scores, b.exact(low, scores.type)) if b.chance(0.5) else (b.exact(low, scores.type), scores)))
    if b.chance(0.5):
        return where(b, b.mask(shape, False), b.const(low, scores.type), scores)
    return where(b, b.mask(shape), scores, b.const(low, scores.type))


def mask_of(b, type, sizes):
    shape = b.pick((sizes, (1, 1, *sizes[2:]), sizes[2:], (sizes[0], 1, 1, sizes[3]), (1, sizes[1], sizes[2], 1)))
    if b.chance(0.5):
        return tensor(b, type, shape)
    return where(b, b.mask(shape), b.const(0, type), b.const(b.pick((-1e4, -math.inf, -65504)), type))


def attention(b):
    b.special = False  # docs/plan-passes.md: rows of infinities
    type = b.pick(("float",) * 5 + ("float16", "double"))
    batch, heads, length, total, size, width = b.pick((1, 2)), b.pick((1, 2, 4)), b.size(), b.size(), b.size(), b.size()
    total = length if b.chance(0.5) else total
    groups = 2 if heads % 2 == 0 and b.chance(0.2) else 1

    def heads_of(positions, channels, count):
        if b.chance(0.4) or 0 in (positions, channels):
            return tensor(b, type, (batch, count, positions, channels))
        flat = tensor(b, type, (batch, positions, count * channels))
        return transpose(b, reshape(b, flat, (batch, positions, count, channels)), (0, 2, 1, 3))

    q, k, v = heads_of(length, size, heads), heads_of(total, size, heads // groups), heads_of(total, width, heads // groups)
    if groups > 1:
        k, v = ((reshape(b, expand(b, unsqueeze(b, x, [2]), (batch, heads // groups, groups, *x.shape[2:])), (batch, heads, *x.shape[2:]))) for x in (k, v))
    scale = b.pick((1, 1 / math.sqrt(max(size, 1))))
    where_scaled = b.rng.randrange(4)
    if where_scaled == 0:
        q, k = scaled(b, q, math.sqrt(scale)), scaled(b, k, math.sqrt(scale))
    elif where_scaled == 1:
        q = scaled(b, q, scale)
    scores = matmul(b, q, transpose(b, k, (0, 1, 3, 2)))
    if where_scaled == 2:
        scores = scaled(b, scores, scale)
    for _ in range(b.pick((0, 1, 1, 2))):
        scores = add(b, scores, mask_of(b, type, (batch, heads, length, total)))
    if b.chance(0.2):
        shape = b.pick(((batch, 1, length, total), (length, total), (1, 1, 1, total)))
        scores = hidden_scores(b, scores, shape, b.pick((-math.inf, -65504 if type == "float16" else -1e30, -1e4)))
    result = softmax(b, scores) if type != "float16" or b.chance(0.5) else cast(b, softmax(b, cast(b, scores, "float")), type)
    if b.chance(0.15):
        result = where(b, unary(b, "IsNaN", result, "bool"), b.const(0, type), result)
    result = matmul(b, result, v)
    if b.chance(0.6):
        result = transpose(b, result, (0, 2, 1, 3))
        return reshape(b, result, (batch, length, heads * width))
    return result


def rotary(b):
    type, half = b.pick(("float", "float", "float16", "double")), b.pick((1, 2, 4, 8))
    x = tensor(b, type, (b.pick((1, 2)), b.pick((1, 3)), b.size(), 2 * half))
    table = b.pick((x.shape[2:], (1, 1, *x.shape[2:]), x.shape))
    if b.chance(0.5):
        first, second = split(b, x, 3, [half, half])
    else:
        first, second = slice_of(b, x, 3, 0, half), slice_of(b, x, 3, half, b.pick((None, 2 * half)))
    turned = concat(b, [unary(b, "Neg", second), first] if b.chance(0.8) else [second, unary(b, "Neg", first)], 3)
    cosine = tensor(b, type, table)
    sine = tensor(b, type, table)
    return add(b, mul(b, x, cosine), mul(b, turned, sine))


def convolution(b):
    type = b.pick(("float",) * 6 + ("float16", "double"))
    x = tensor(b, type, (b.pick((1, 2)), b.pick((1, 2, 3, 4, 8, 16, 32)), *[b.pick((1, 3, 5, 8, 9)) for _ in range(b.pick((1, 2, 2, 2, 3)))]))
    if b.chance(0.15):
        x = batch_normalization(b, x)
    if b.chance(0.25):
        y = conv_transpose(b, x, b.pick((1, 2, 4, 8)))
    else:
        group = b.pick((1, 1, 1, x.shape[1]))
        y = conv(b, x, b.pick((1, 2, 4, 8, 16)) * group, group=group, bias=b.chance(0.6))
    if b.chance(0.5):
        y = batch_normalization(b, y)
    channel = (1, y.shape[1], *[1] * (y.rank - 2))
    y = by_channel(b, y, (channel, channel, channel[1:], (), y.shape[-1:]))
    y = activation(b, y)
    if b.chance(0.5):
        other = tensor(b, type, b.pick((y.shape, y.shape, channel, y.shape[1:]))) if y.shape != x.shape or b.chance(0.5) else x
        y = activation(b, add(b, y, other))
    if b.chance(0.3):
        y = pool(b, y)
    return conv(b, y, b.pick((1, 4)), kernel=[1] * (y.rank - 2)) if b.chance(0.3) else y


def by_channel(b, y, shapes):
    """Constants that move and scale."""
    for _ in range(b.pick((0, 0, 1, 2))):
        operator = b.pick(("Add", "Mul", "Sub", "Div"))
        other = b.weight(y.type, b.pick(shapes), "positive" if operator == "Div" else "weight")
        y = binary(b, operator, *((y, other) if operator == "Div" or b.chance(0.7) else (other, y)))
    return y


def product(b):
    type = b.pick(("float",) * 6 + ("float16", "double", "bfloat16"))
    m, k, n = b.size(), b.long(), b.long()
    if b.chance(0.3):
        parts = {"transA": b.pick((0, 1)), "transB": b.pick((0, 1)), "alpha": b.pick((1.0, 1.0, 0.5)), "beta": b.pick((1.0, 1.0, 0.25))}
        x = tensor(b, type, (k, m) if parts["transA"] else (m, k))
        w = b.weight(type, (n, k) if parts["transB"] else (k, n))
        bias = [b.weight(type, b.pick(((n,), (1, n), (m, 1), (m, n), (1,))))] if b.chance(0.8) else []
        y = b.op("Gemm", [x, w, *bias], type, (m, n), **parts)
        y = batch_normalization(b, y) if b.chance(0.3) else by_channel(b, y, ((n,), (m, 1), (), (m, n)))
    else:
        x = tensor(b, type, b.pick(((m, k), (2, m, k), (2, 1, m, k), (k,))))
        w = b.weight(type, (k, n)) if b.chance(0.7) else tensor(b, type, b.pick(((k, n), (2, k, n), (k,))))
        if w.rank > 1 and b.chance(0.3):
            w = transpose(b, transpose(b, w, (*range(w.rank - 2), w.rank - 1, w.rank - 2)), (*range(w.rank - 2), w.rank - 1, w.rank - 2))
        y = matmul(b, x, w)
    if b.chance(0.6):
        y = add(b, y, b.weight(type, b.pick((y.shape[-1:], y.shape, (1, *y.shape[-1:]), ()))))
    y = activation(b, by_channel(b, y, (y.shape[-1:], (), y.shape)))
    if b.chance(0.4):
        y = add(b, y, tensor(b, type, y.shape))
    if b.chance(0.3) and y.rank > 1:
        y = transpose(b, y)
    return y


def joined_products(b):
    type, k = "float", b.size()
    x = tensor(b, type, b.pick(((b.size(), k), (2, b.size(), k))))
    parts = []
    for _ in range(b.pick((2, 3))):
        y = matmul(b, x, b.weight(type, (k, b.size())))
        parts.append(add(b, y, b.weight(type, b.pick((y.shape[-1:], ())))) if b.chance(0.7) else y)
    return concat(b, parts, x.rank - 1) if b.chance(0.4) else parts[0]


def quantized_convolution(b):
    x = tensor(b, "float", (b.pick((1, 2)), b.pick((1, 2, 4, 8)), b.pick((3, 5, 8)), b.pick((3, 5, 8))))
    read = quantized(b, x)
    filters, kernel = b.pick((1, 4, 8)), b.pick((1, 1, 3))
    group = b.pick((1, 1, x.shape[1]))
    filters *= group
    weight_type = b.pick(("int8", "int8", "uint8"))
    numbers = b.weight(weight_type, (filters, x.shape[1] // group, kernel, kernel), "full")
    zeros = 0 if weight_type == "int8" else 128
    if b.chance(0.1):
        zeros += 3
    by_channel = b.chance(0.5)
    scales = b.weight("float", (filters,), "positive") if by_channel else b.const(0.02)
    zero = b.const([zeros] * filters, weight_type, (filters,)) if by_channel else b.const(zeros, weight_type)
    if scales.shape != zero.shape or not by_channel and scales.rank > 1:
        raise Invalid
    zero = None if weight_type == "int8" and b.chance(0.3) else zero
    more = {"axis": 0} if by_channel else {}
    weight = b.op("DequantizeLinear", [numbers, scales, zero], "float", numbers.shape, **more)
    pads = b.pick((0, kernel // 2))
    stride = b.pick((1, 1, 2))
    sizes = [(size + 2 * pads - kernel) // stride + 1 for size in x.shape[2:]]
    inputs = [read, weight] + ([b.weight("float", (filters,))] if b.chance(0.5) else [])
    y = b.op("Conv", inputs, "float", (x.shape[0], filters, *sizes), group=group, pads=[pads] * 4, strides=[stride] * 2)
    y = activation(b, y) if b.chance(0.4) else unary(b, "Relu", y) if b.chance(0.5) else y
    if b.chance(0.3):
        y = add(b, y, quantized(b, tensor(b, "float", y.shape)))
    return quantized(b, y) if b.chance(0.7) else y


def quantized_product(b):
    m, k, n = b.size(), b.long(), b.long()
    x = tensor(b, "float", b.pick(((m, k), (2, m, k))))
    type = b.pick(("int8", "int8", "uint8"))
    if b.chance(0.25):
        names = [("uint8", x.shape), ("float", ()), ("uint8", ())]
        q, scale, zero = b.nodes("DynamicQuantizeLinear", [x], names)
        w = b.weight("int8", (k, n), "full")
        sums = b.op("MatMulInteger", [q, w, zero], "int32", (*x.shape[:-1], n))
        return activation(b, mul(b, cast(b, sums, "float"), scaled(b, scale, 0.03)))
    read = quantized(b, x)
    numbers = b.weight(type, (k, n), "full")
    by_column = b.chance(0.4)
    scale = b.weight("float", (n,), "positive") if by_column else b.const(0.03)
    zero = b.const([0 if type == "int8" else 128] * (n if by_column else 1), type, (n,) if by_column else ())
    if scale.shape != zero.shape or not by_column and scale.shape:
        raise Invalid
    weight = b.op("DequantizeLinear", [numbers, scale, zero], "float", (k, n), **({"axis": 1} if by_column else {}))
    y = matmul(b, read, weight)
    y = add(b, y, b.weight("float", (n,))) if b.chance(0.5) else y
    y = activation(b, y) if b.chance(0.5) else y
    return quantized(b, y) if b.chance(0.6) else y


def views(b):
    """Parts of values and values of parts, between which something is computed."""
    x = tensor(b, b.pick(("float", "float", "int64", "float16", "bool", "uint8")), b.shape(b.pick((1, 2, 3, 4))))
    for _ in range(b.rng.randint(2, 6)):
        step = b.rng.randrange(9)
        axis = b.rng.randrange(x.rank) if x.rank else 0
        if step == 0 and x.rank:
            x = random_slice(b, x)
        elif step == 1 and x.rank:
            x = transpose(b, x)
        elif step == 2 and x.rank and x.shape[axis] > 1:
            cut = b.rng.randrange(1, x.shape[axis])
            parts = split(b, x, axis, [cut, x.shape[axis] - cut])
            parts = [plain(b, part) if b.chance(0.5) else part for part in parts]
            x = concat(b, parts[::b.pick((1, -1))], axis) if b.chance(0.7) else b.pick(parts)
        elif step == 3 and x.count:
            x = reshape(b, x, b.pick(((x.count,), (1, x.count), (x.count, 1), (*x.shape[:-1], 1, *x.shape[-1:]))))
        elif step == 4 and x.rank and x.count < 3000:
            x = concat(b, [x, plain(b, x), *([x] if b.chance(0.3) else [])], axis)
        elif step == 5 and x.rank < 4:
            x = unsqueeze(b, x, [b.rng.randint(0, x.rank)])
        elif step == 6 and 1 in x.shape:
            x = squeeze(b, x, [x.shape.index(1)]) if b.chance(0.5) else expand(b, x, tuple(3 if size == 1 and x.count < 1000 else size for size in x.shape))
        elif step == 7 and x.rank:
            x = gather(b, x)
        else:
            x = plain(b, x)
    return x


def plain(b, x):
    """Something that a map computes."""
    if x.type == "bool":
        return unary(b, "Not", x)
    if b.chance(0.3) and x.rank and x.known:
        return add(b, x, b.weight(x.type, x.shape[-1:]))
    if x.type == "uint8":
        return unary(b, "Identity", x)
    return unary(b, b.pick(("Neg", "Abs") + (("Relu", "Tanh") if x.is_float and x.type != "bfloat16" else ())), x)


def reductions(b):
    x = tensor(b, b.pick(("float", "float", "double", "float16", "int32", "int64")), b.shape(b.pick((1, 2, 3, 4))))
    for _ in range(b.pick((1, 2, 3))):
        x = plain(b, x)
        if b.chance(0.4):
            x = mul(b, x, tensor(b, x.type, b.pick((x.shape, x.shape[-1:], (1,) * x.rank))))
        if b.chance(0.3) and x.rank:
            x = transpose(b, x)
        if not x.rank or not x.count:
            break
        operator = b.pick(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"))
        if operator in ("ReduceL2", "ReduceLogSumExp", "ReduceMean") and not x.is_float:
            operator = "ReduceSum"
        axes = b.rng.sample(range(x.rank), b.rng.randint(1, x.rank))
        y = reduce(b, operator, x, None if b.chance(0.1) else [axis - x.rank if b.chance(0.3) else axis for axis in axes], b.chance(0.7))
        x = binary(b, b.pick(("Sub", "Mul", "Max")), x, y) if y.rank == x.rank and b.chance(0.4) else y
    return plain(b, x)


def transposes(b):
    """Transposes around what works by element, as layouts are changed for one operator and back."""
    x = tensor(b, b.pick(("float", "float16", "int32")), b.shape(4))
    order = b.pick(((0, 2, 3, 1), (0, 3, 1, 2), (1, 0, 2, 3), (3, 2, 1, 0)))
    y = transpose(b, x, order)
    for _ in range(b.pick((1, 2, 3))):
        y = plain(b, y) if b.chance(0.5) else add(b, y, tensor(b, x.type, b.pick((y.shape, y.shape[-1:], (), (*y.shape[:-1], 1)))))
    y = softmax(b, y) if x.is_float and b.chance(0.2) and y.count else y
    y = transpose(b, y, [order.index(i) for i in range(4)] if b.chance(0.8) else order)
    return add(b, y, x) if y.shape == x.shape and b.chance(0.6) else y


def common(b):
    """Equal nodes, and nodes that are nearly equal."""
    x = tensor(b, real(b), b.shape(b.pick((1, 2, 3))))
    values = []
    for _ in range(b.pick((2, 3, 4))):
        y = scaled(b, x, b.pick((2, 2, 3)))
        values.append(unary(b, b.pick(("Sigmoid", "Sigmoid", "Tanh")), y) if b.chance(0.7) else y)
    y = values[0]
    for value in values[1:]:
        y = binary(b, b.pick(("Add", "Sub", "Mul")), y, value)
    return y


def sizes_in_the_graph(b):
    """Reshape and Expand to sizes that the graph computes."""
    x = tensor(b, b.pick(("float", "int64", "float16")), b.shape(b.pick((2, 3))))
    if not x.count:
        raise Invalid
    sizes = b.op("Shape", [x], "int64", (x.rank,))
    last = gather(b, sizes, 0, b.ints([x.rank - 1]))
    first = slice_of(b, sizes, 0, 0, 1)
    choice = b.rng.randrange(3)
    if choice == 0:
        return plain(b, b.op("Reshape", [x, concat(b, [b.ints([-1]), last], 0)], x.type, (x.count // x.shape[-1], x.shape[-1])))
    if choice == 1:
        wanted = concat(b, [first, b.ints([2]), last], 0)
        return plain(b, b.op("Expand", [b.weight(x.type, (1, 1)), wanted], x.type, (x.shape[0], 2, x.shape[-1])))
    filled = b.op("ConstantOfShape", [sizes], "float", x.shape)
    return where(b, cast(b, filled, "bool"), x, plain(b, x))


def attention_mask(b):
    """A causal mask, made from positions."""
    b.special = False
    size = max(b.size(), 1)
    places = b.op("Range", [b.exact(0, "int64"), b.exact(size, "int64"), b.exact(1, "int64")], "int64", (size,))
    allowed = binary(b, "LessOrEqual", unsqueeze(b, places, [0]), unsqueeze(b, places, [1]), "bool")
    q, k, v = (tensor(b, "float", (1, 2, size, 4)) for _ in range(3))
    scores = scaled(b, matmul(b, q, transpose(b, k, (0, 1, 3, 2))), 0.5)
    mask = where(b, allowed, b.const(0.0), b.const(b.pick((-math.inf, -1e30, -1e4))))
    return matmul(b, softmax(b, add(b, scores, mask)), v)


def dequantized_weights(b):
    q = b.weight(b.pick(("int8", "uint8")), b.pick(((4, 6), (3, 8))), "full")
    w = dequantize(b, q, b.exact(0.05, "float"), b.exact(3, q.type))
    x = tensor(b, "float", (b.size(), q.shape[0]))
    y = matmul(b, x, w) if b.chance(0.7) else gather(b, w, 0)
    return activation(b, y)


def padded(b):
    """A Pad in front of convolutions and pools."""
    x = tensor(b, b.pick(("float", "float", "float16", "double")), (b.pick((1, 2)), b.pick((1, 4, 8)), *[b.pick((1, 3, 5, 8)) for _ in range(b.pick((1, 2, 2, 3)))]))
    x = clip(b, x, b.pick((0, 0, -1, 1)), b.pick((6, None))) if b.chance(0.3) else unary(b, b.pick(("Relu", "Relu", "Neg")), x)
    sides = [[0, 0, *[b.pick((0, 1, 1, 2)) for _ in x.shape[2:]]] for _ in range(2)]
    if b.chance(b.odd):
        sides[0][1] = 1
    fill = [b.exact(b.pick((0, 0, 0, 1, -math.inf)), x.type)] if b.chance(0.6) else []
    shape = tuple(map(sum, zip(x.shape, *sides)))
    y = b.op("Pad", [x, b.ints(sides[0] + sides[1]), *fill], x.type, shape, mode=b.pick(("constant", "constant", "constant", None, "edge")))
    return pool(b, y) if b.chance(0.5) else conv(b, y, b.pick((1, 4, 8)), group=b.pick((1, 1, y.shape[1])) if y.shape[1] in (1, 4, 8) else 1)


PATTERNS = {function.__name__: function for function in (
    gelu, swish, hard_swish, layer_normalization, rms_normalization, scaled_softmax, attention, rotary, convolution, product, joined_products,
    quantized_convolution, quantized_product, views, reductions, transposes, common, sizes_in_the_graph, attention_mask, dequantized_weights, padded)}
