"""More nodes and patterns for scripts/random_graphs: narrow integers, quantized arithmetic, recurrences, resampling, outputs that are left out, caches."""
import math

from onnx import helper

from random_graph_builder import LIMITS, TYPES, Invalid, Value
from random_graph_nodes import add, binary, cast, clip, concat, expand, gather, matmul, mul, reshape, slice_of, softmax, transpose, unary, unsqueeze
from random_graph_patterns import activation, few_numbers, gelu, hard_swish, layer_normalization, plain, swish, tensor

WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def whole_numbers(b):
    """Integers of all widths, which wrap, are cut and widened."""
    x = b.input(b.pick(WHOLE), b.shape(b.pick((1, 2, 3))), b.pick(("normal", "full")))
    for _ in range(b.rng.randint(2, 7)):
        choice = b.rng.randrange(8)
        if choice <= 1:
            x = cast(b, x, b.pick(WHOLE))
        elif choice == 2:
            x = cast(b, whole_real(b, x), x.type)
        elif choice == 3:
            shape = b.pick((x.shape, x.shape[-1:], ()))
            y = b.input(x.type, shape, b.pick(("normal", "full"))) if b.chance(0.5) else b.weight(x.type, shape, b.pick(("normal", "full")))
            x = binary(b, b.pick(("Add", "Sub", "Mul", "Div", "Max", "Min")), *((x, y) if b.chance(0.6) else (y, x)))
        elif choice == 4 and x.type.startswith("u"):
            x = b.op("BitShift", [x, b.weight(x.type, ())], x.type, x.shape, direction=b.pick(("LEFT", "RIGHT")))
        elif choice == 5:
            x = clip(b, x, b.pick((0, 1, None)), b.pick((7, 100, None)))
        elif choice == 6 and not x.type.startswith("u"):
            x = unary(b, b.pick(("Neg", "Abs", "Sign")), x)
        else:
            x = b.pick((moved, gathered))(b, x)
    return x


def whole_real(b, x):
    """Whole numbers by way of reals."""
    real = cast(b, x, b.pick(("float", "double", "float16")) if x.type in ("int8", "uint8") else "double")
    real = b.pick((lambda v: mul(b, v, b.const(0.5, v.type)), lambda v: unary(b, "Neg", v), lambda v: v))(real)
    return clip(b, unary(b, b.pick(("Floor", "Round", "Ceil")), real), 0, 100)


def moved(b, x):
    return transpose(b, x) if x.rank else x


def gathered(b, x):
    return gather(b, x) if x.rank and 0 not in x.shape else x


def quantized_operators(b):
    """Operators on bytes with scales and zero points as inputs."""
    kind = b.pick(("uint8", "int8"))
    m, k, n = b.size(False), b.size(False), b.size(False)
    low, high = (0, 255) if kind == "uint8" else (-128, 127)
    zero = b.exact(b.rng.randint(low, high), kind)
    scale = b.exact(0.03, "float")
    weight_type = b.pick(("int8", "uint8"))
    choice = b.rng.randrange(4)
    out_zero, out_scale = b.exact(b.rng.randint(low, high), kind), b.exact(b.pick((0.05, 0.3)), "float")
    weight_zero = b.exact(b.pick((0, 0, 3, 128 if weight_type == "uint8" else 0)), weight_type)
    if choice <= 1:
        x = b.input(kind, (m, k), "full")
        w = b.weight(weight_type, (k, n), "full") if b.chance(0.8) else b.input(weight_type, (k, n), "full")
        if choice == 0:
            q = b.op("QLinearMatMul", [x, scale, zero, w, b.exact(0.02, "float"), weight_zero, out_scale, out_zero], kind, (m, n))
            return read_bytes(b, q, out_scale, out_zero)
        sums = b.op("MatMulInteger", [x, w, b.pick((zero, None)), b.pick((weight_zero, None))], "int32", (m, n))
    else:
        x = b.input(kind, (1, b.pick((1, 3, 4)), b.pick((4, 5)), b.pick((4, 6))), "full")
        w = b.weight(weight_type, (n, x.shape[1], 3, 3), "full")
        shape, attributes = (1, n, *x.shape[2:]), {"pads": [1, 1, 1, 1]}
        if choice == 2:
            bias = [b.weight("int32", (n,), "normal")] if b.chance(0.6) else []
            inputs = [x, scale, zero, w, b.exact(0.02, "float"), weight_zero, out_scale, out_zero, *bias]
            return read_bytes(b, b.op("QLinearConv", inputs, kind, shape, **attributes), out_scale, out_zero)
        sums = b.op("ConvInteger", [x, w, b.pick((zero, None)), b.pick((weight_zero, None))], "int32", shape, **attributes)
    y = mul(b, cast(b, sums, "float"), b.const(0.001))
    y = add(b, y, b.weight("float", y.shape[-1:])) if b.chance(0.5) else y
    return activation(b, y)


def read_bytes(b, q, scale, zero):
    q = moved(b, q) if b.chance(0.3) else q
    q = clip(b, q, b.pick((zero_value(q), None)), None) if b.chance(0.2) else q
    return plain(b, b.op("DequantizeLinear", [q, scale, zero], "float", q.shape)) if b.chance(0.7) else q


def zero_value(q):
    return max(LIMITS[q.type][0], -5)


def recurrence(b):
    operator, gates = b.pick((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    time, batch, size, hidden = b.pick((1, 2, 5)), b.pick((1, 2, 3)), b.pick((1, 3, 4)), b.pick((1, 2, 8, 9))
    directions, direction = b.pick(((1, "forward"), (1, "reverse"), (2, "bidirectional")))
    x = tensor(b, "float", (time, batch, size))
    inputs = [x, b.weight("float", (directions, gates * hidden, size)), b.weight("float", (directions, gates * hidden, hidden)),
              b.weight("float", (directions, 2 * gates * hidden)) if b.chance(0.6) else None, None,
              b.weight("float", (directions, batch, hidden)) if b.chance(0.5) else None]
    state = (directions, batch, hidden)
    outputs = [("float", (time, directions, batch, hidden)), ("float", state)] + ([("float", state)] if operator == "LSTM" else [])
    kept = [each if b.chance(0.6) else None for each in outputs]
    if not any(kept):
        kept[0] = outputs[0]
    while not kept[-1]:
        kept.pop()
    values = [v for v in b.nodes(operator, inputs, kept, hidden_size=hidden, direction=direction) if v]
    y = b.pick(values)
    if y.rank == 4 and directions == 1:
        y = b.op("Squeeze", [y, b.ints([1])], "float", (time, batch, hidden))
    return activation(b, plain(b, y))


def resampling(b):
    x = tensor(b, b.pick(("float", "float", "float16", "uint8")), (1, b.pick((1, 2, 4)), b.pick((1, 2, 4)), b.pick((2, 4, 6))))
    x = plain(b, x)
    choice = b.rng.randrange(4)
    if choice == 0:
        if x.shape[2] % 2 or x.shape[3] % 2:
            raise Invalid
        x = b.op("SpaceToDepth", [x], x.type, (1, x.shape[1] * 4, x.shape[2] // 2, x.shape[3] // 2), blocksize=2)
    elif choice == 1:
        if x.shape[1] % 4:
            raise Invalid
        x = b.op("DepthToSpace", [x], x.type, (1, x.shape[1] // 4, x.shape[2] * 2, x.shape[3] * 2), blocksize=2, mode=b.pick(("DCR", "CRD")))
    else:
        height, width = b.pick((1, 2)), b.pick((1, 2, 3))
        sizes = (1, x.shape[1], x.shape[2] * height, x.shape[3] * width)
        mode = b.pick(("nearest", "linear")) if x.type != "uint8" else "nearest"
        where = [None, None, b.ints(sizes)] if b.chance(0.5) else [None, b.positions([1.0, 1.0, float(height), float(width)], (4,), "float")]
        x = b.op("Resize", [x, *where], x.type, sizes, mode=mode, coordinate_transformation_mode=b.pick(("half_pixel", "asymmetric")))
    x = plain(b, x)
    return add(b, x, tensor(b, x.type, (x.shape[1], 1, 1))) if x.is_float else x


def left_out(b):
    """Operators with several outputs, of which some are left out."""
    x = plain(b, tensor(b, "float", (b.pick((1, 2)), b.pick((2, 3)), b.pick((3, 4, 6)), b.pick((3, 4)))))
    choice = b.rng.randrange(4)
    if choice == 0:
        shape = (*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2)
        outputs = b.nodes("MaxPool", [x], [("float", shape), ("int64", shape)], kernel_shape=[2, 2], strides=[2, 2])
    elif choice == 1:
        few_numbers(x, [3])
        scale = b.weight("float", x.shape[3:])
        outputs = b.nodes("LayerNormalization", [x, scale], [("float", x.shape)] + [b.pick((None, ("float", (*x.shape[:3], 1)))) for _ in range(2)]) \
            if b.opset >= 17 else [x]
    elif choice == 2:
        shape = (*x.shape[:3], 2)
        outputs = b.nodes("TopK", [x, b.ints([2])], [("float", shape), ("int64", shape)])
        outputs = [b.pick(outputs)]
    else:
        outputs = b.nodes("Dropout", [x], b.pick(([("float", x.shape)], [("float", x.shape), ("bool", x.shape)])))
    outputs = [value for value in outputs if value]
    return plain(b, outputs[0]) if outputs[0].type == "float" else outputs[0]


def einsum(b):
    sizes = {letter: b.pick((1, 2, 3, 5)) for letter in "bhijkd"}
    equation = b.pick(("bhid,bhjd->bhij", "bij,bjk->bik", "ij,jk", "bhij,bhjd->bihd", "ij->ji", "bij->b", "i,j->ij", "ij,ij->i", "bij,jk->bik", "bii->bi"))
    left, _, right = equation.partition("->")
    terms = left.split(",")
    values = [plain(b, tensor(b, b.pick(("float",)), tuple(sizes[letter] for letter in term))) for term in terms]
    result = right or "".join(sorted(letter for letter in set(left) - {","} if left.count(letter) == 1))
    y = b.op("Einsum", values, "float", tuple(sizes[letter] for letter in result), equation=equation)
    return activation(b, y)


def cache(b):
    """New rows behind past ones, or at a place in them, and attention over both."""
    heads, past, new, size = b.pick((1, 2)), b.pick((0, 1, 4)), b.pick((1, 2)), b.pick((2, 4))
    q = tensor(b, "float", (1, heads, new, size))
    keys, values = (b.input("float", (1, heads, past, size)) for _ in range(2))
    k, v = (plain(b, tensor(b, "float", (1, heads, new, size))) for _ in range(2))
    present_k, present_v = concat(b, [keys, k], 2), concat(b, [values, v], 2)
    b.output(*[each for each in (present_k, present_v) if b.chance(0.7)])
    scores = mul(b, matmul(b, q, transpose(b, present_k, (0, 1, 3, 2))), b.const(0.5))
    return matmul(b, softmax(b, scores), present_v)


def newer_operators(b):
    if b.opset < 24:
        raise Invalid
    choice = b.rng.randrange(3)
    if choice == 0:
        b.special = False  # docs/roadmap.md: keys that are hidden and infinite
        batch, heads, length, size = b.pick((1, 2)), 2, b.pick((1, 3)), b.pick((2, 4))
        past = b.pick((0, 2))
        q, k, v = (plain(b, tensor(b, "float", (batch, heads, length, size))) for _ in range(3))
        inputs, outputs = [q, k, v, None], [("float", (batch, heads, length, size))]
        if b.chance(0.5):
            inputs[3] = tensor(b, "float", (length, length))
        elif b.chance(0.5):
            inputs += [b.input("float", (batch, heads, past, size)) for _ in range(2)]
            outputs += [("float", (batch, heads, past + length, size))] * 2
        values = b.nodes("Attention", inputs, outputs, is_causal=b.pick((0, 1)), scale=b.pick((None, 0.3)))
        return plain(b, values[0])
    x = plain(b, tensor(b, b.pick(("float", "float16")), (2, 3, b.pick((4, 8)))))
    if choice == 1:
        return activation(b, b.op("RMSNormalization", [x, b.weight(x.type, x.shape[-1:])], x.type, x.shape))
    size = x.shape[-1]
    y = reshape(b, x, (2, 3, 2, size // 2))
    y = transpose(b, y, (0, 2, 1, 3))
    tables = [b.weight(x.type, (2, 3, size // 4)) for _ in range(2)]
    return plain(b, b.op("RotaryEmbedding", [y, *tables], x.type, y.shape, interleaved=b.pick((0, 1))))


def microsoft(b):
    """Operators of com.microsoft around others."""
    x = plain(b, tensor(b, "float", (1, b.pick((2, 3)), b.pick((4, 8)))))
    width = x.shape[-1]
    choice = b.pick(("BiasGelu", "FastGelu", "SkipLayerNormalization", "QuickGelu", "FusedMatMul", "Gelu", "SimplifiedLayerNormalization"))
    inputs, shape, attributes = [x], x.shape, {}
    if choice in ("BiasGelu", "FastGelu"):
        inputs.append(b.weight("float", (width,)))
    elif choice == "SkipLayerNormalization":
        inputs += [tensor(b, "float", x.shape), b.weight("float", (width,)), b.weight("float", (width,))]
    elif choice == "FusedMatMul":
        inputs.append(tensor(b, "float", (width, 3)))
        shape, attributes = (*x.shape[:-1], 3), {"alpha": 0.5}
    elif choice == "SimplifiedLayerNormalization":
        choice, inputs = "SkipSimplifiedLayerNormalization", [x, tensor(b, "float", x.shape), b.weight("float", (width,))]
    y = b.disturbed(b.nodes(choice, inputs, [("float", shape)], domain="com.microsoft", **attributes)[0])
    return add(b, y, x) if y.shape == x.shape and b.chance(0.5) else plain(b, y)


def long_rows(b):
    """Axes longer than blocks of kernels, views with offsets and odd lengths among them."""
    x = tensor(b, b.pick(("float", "float", "float16", "int32", "double", "bool", "uint8")), (b.pick((1, 2, 3)), b.pick((64, 257, 511, 513, 1030))))
    for _ in range(b.rng.randint(1, 4)):
        choice = b.rng.randrange(6)
        if choice == 0:
            x = slice_of(b, x, 1, b.pick((0, 1, 3)), None, b.pick((1, 1, 2)))
        elif choice == 1:
            x = slice_of(b, x, 1, -1, None, -1)
        elif choice == 2 and x.count < 4000:
            x = concat(b, [x, plain(b, x)], b.pick((0, 1)))
        elif choice == 3:
            x = transpose(b, plain(b, transpose(b, x, (1, 0))), (1, 0))
        elif choice == 4 and x.is_float:
            x = b.pick((softmax, layer_normalization))(b, x)
        else:
            x = plain(b, x)
    return x


def casts(b):
    """Chains of Casts, some of which lose something."""
    x = b.input(b.pick(("float", "double", "float16", "bfloat16", "int64", "int32", "uint8", "bool")), b.shape(b.pick((1, 2))))
    for _ in range(b.rng.randint(2, 5)):
        if x.is_float and b.chance(0.5):  # small whole numbers, which every type holds
            x = clip(b, unary(b, "Round", x), 0, 9) if x.type != "bfloat16" else x
            if x.type == "bfloat16":
                x = cast(b, x, "float")
                continue
            x = cast(b, x, b.pick(tuple(TYPES)))
        elif x.is_float:
            x = cast(b, x, b.pick(("float", "double", "float16", "bfloat16")))
        else:
            x = cast(b, x, b.pick(tuple(TYPES)))
    return x


def statistics(b):
    """Reductions of one value that are put together: a mean and a variance, sums of parts, a range."""
    x = plain(b, tensor(b, b.pick(("float", "float", "double")), b.shape(b.pick((2, 3)))))
    axis = b.rng.randrange(x.rank)
    if x.shape[axis] in (0, 1, 2) or not x.count:
        raise Invalid

    def over(value, operator):
        shape = (*value.shape[:axis], 1, *value.shape[axis + 1:])
        if b.opset >= 18 or operator == "ReduceSum":
            return b.op(operator, [value, b.ints([axis])], value.type, shape)
        return b.op(operator, [value], value.type, shape, axes=[axis])

    highest = over(x, "ReduceMax")
    exponents = unary(b, "Exp", binary(b, "Sub", x, highest))
    weights = binary(b, "Div", exponents, over(exponents, "ReduceSum"))
    mean = over(mul(b, weights, x), "ReduceSum")
    spread = add(b, unary(b, "Abs", binary(b, "Sub", highest, over(x, "ReduceMin"))), b.const(1, x.type))
    return binary(b, "Div", binary(b, "Sub", x, mean), spread)


def repeated_heads(b):
    x = tensor(b, "float", (1, 2, b.pick((1, 3)), 4))
    y = expand(b, unsqueeze(b, x, [2]), (1, 2, 2, *x.shape[2:]))
    y = reshape(b, plain(b, y) if b.chance(0.5) else y, (1, 4, *x.shape[2:])) if y.count else y
    return matmul(b, y, transpose(b, y, (*range(y.rank - 2), y.rank - 1, y.rank - 2)))


def packed_weights(b):
    """Products with weights of a few bits behind DequantizeLinear, of one scale, one for each column or one for each block."""
    kinds = {"int4": (-8, 7), "uint4": (0, 15), "int8": (-128, 127), "uint8": (0, 255)} | ({"int2": (-2, 1), "uint2": (0, 3)} if b.opset >= 25 else {})
    if b.opset < 21:
        raise Invalid
    kind, turns = b.pick(kinds), b.chance(0.5)
    k, n, block = b.pick((5, 8, 12, 16, 33, 64)), b.pick((1, 2, 3, 8, 17)), b.pick((4, 8, 8, 16))
    shape = (n, k) if turns else (k, n)
    axis = 1 if turns else 0
    if b.chance(0.1):
        axis = 1 - axis
    form = b.pick(("blocks", "blocks", "columns", "whole"))
    blocks = -(-shape[axis] // block)
    scales = {"blocks": (*shape[:axis], blocks, *shape[axis + 1:]), "columns": (shape[1 - axis],), "whole": b.pick(((), (1,)))}[form]
    real = "float"  # float16 would round the weights, which the product does not
    numbers = b.positions([b.rng.randint(*kinds[kind]) for _ in range(math.prod(shape))], shape, kind)
    scale = b.positions([round(b.rng.uniform(-0.1, 0.2), 3) or 0.1 for _ in range(math.prod(scales))], scales, real)
    zero = b.positions([b.rng.randint(*kinds[kind]) for _ in range(math.prod(scales))], scales, kind) if b.chance(0.6) else None
    attributes = {"blocks": {"axis": axis, "block_size": block}, "columns": {"axis": 1 - axis - b.pick((0, 2))}, "whole": {}}[form]
    w = b.op("DequantizeLinear", [numbers, scale, zero], real, shape, **attributes)
    rows = b.pick((1, 2, 5, 16))
    x = tensor(b, real, b.pick(((rows, k), (2, rows, k))))
    if turns and x.rank == 2 and b.chance(0.5):
        y = b.op("Gemm", [x, w, b.weight(real, (n,))], real, (rows, n), transB=1, alpha=b.pick((1.0, 0.5)))
    else:
        y = matmul(b, x, transpose(b, w, (1, 0)) if turns else w)
        y = add(b, y, b.weight(real, (n,))) if b.chance(0.5) else y
    return activation(b, y)


def batches(b):
    """A leading axis of a size that changes from set to set, so that one session makes and keeps several plans."""
    b.rate, b.sets = 0, [{} for _ in range(3)]
    name, rest = b.fresh(), b.pick(((4,), (8,), (2, 6), (3, 17)))
    for data in b.sets:
        shape = (b.pick((0, 1, 1, 2, 5, 9)), *rest)
        data[name] = b.tensor(name, "float", shape, b.numbers_of("float", math.prod(shape), "normal"))
    b.inputs.append(helper.make_tensor_value_info(name, TYPES["float"], ["batch", *rest]))
    x = first = Value(name, "float", (None, *rest))
    for _ in range(b.rng.randint(2, 7)):
        x = one_of_each_row(b, x, first)
    return x


def one_of_each_row(b, x, first):
    """What treats the leading axis alike whatever its size."""
    choice, width = b.rng.randrange(10), x.shape[-1]
    if choice == 0:
        return b.pick((gelu, swish, hard_swish))(b, x)
    if choice == 1:
        weights = [b.weight("float", (width,)) for _ in range(2)]
        return b.op("LayerNormalization", [x, *weights], "float", x.shape) if b.opset >= 17 and width > 2 else x
    if choice == 2:
        columns = b.pick((3, 8, 16))
        return b.op("MatMul", [x, b.weight("float", (width, columns))], "float", (*x.shape[:-1], columns))
    if choice == 3:
        return softmax(b, x)
    if choice == 4:
        return concat(b, [x, plain(b, x)], x.rank - 1) if width < 40 else x
    if choice == 5:
        return slice_of(b, x, x.rank - 1, b.pick((0, 1)), b.pick((None, width - 1)), b.pick((1, 1, 2))) if width > 3 else x
    if choice == 6:
        return add(b, x, b.weight("float", b.pick(((width,), (), x.shape[1:]))))
    if choice == 7:
        sizes = b.op("Shape", [x], "int64", (x.rank,))
        flat = b.op("Reshape", [x, concat(b, [slice_of(b, sizes, 0, 0, 1), b.ints([math.prod(x.shape[1:])])], 0)], "float", (None, math.prod(x.shape[1:])))
        return flat
    if choice == 8 and x.shape == first.shape:
        return b.op("Add", [x, first], "float", x.shape)
    return plain_of_rows(b, x)


def plain_of_rows(b, x):
    order = (*range(1, x.rank), 0)
    turned = unary(b, b.pick(("Relu", "Neg", "Tanh")), transpose(b, x, order))
    return transpose(b, turned, (x.rank - 1, *range(x.rank - 1)))


OPERATORS = {function.__name__: function for function in (
    whole_numbers, quantized_operators, recurrence, resampling, left_out, einsum, cache, newer_operators, microsoft, long_rows, casts, statistics,
    repeated_heads, packed_weights, batches)}
