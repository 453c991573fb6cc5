"""If, Loop and Scan with small bodies that capture values, for scripts/random_graphs."""
from onnx import helper

from random_graph_builder import TYPES, Invalid, Value
from random_graph_nodes import add, binary, concat, matmul, mul, reduce, slice_of, softmax, transpose, unary


def info(value):
    return helper.make_tensor_value_info(value.name, TYPES[value.type], [None if size is None else size for size in value.shape])


def readable(b, pool, *types):
    found = [value for value in pool if value.type in (types or ("float", "double")) and value.known]
    if not found:
        raise Invalid
    return b.pick(found)


def step(b, x, pool, deep=True):
    """A few operations that keep type and sizes."""
    beside = [value for value in pool if value.type == x.type and value.shape == x.shape]
    for _ in range(b.pick((1, 1, 2, 3))):
        choice = b.rng.randrange(8)
        if choice <= 1 and beside:
            x = binary(b, b.pick(("Add", "Sub", "Mul", "Max")), x, b.pick(beside))
        elif choice == 2:
            x = b.pick((add, mul))(b, x, b.exact(0.5, x.type))
        elif choice == 3 and deep and b.chance(0.4):
            x = inner_branch(b, x, pool)
        elif choice == 4 and x.rank:
            x = b.pick((turned, around, squared, centred))(b, x)
        else:
            x = unary(b, b.pick(("Relu", "Neg", "Tanh", "Sigmoid", "Abs")), x)
    return x


def turned(b, x):
    order = b.rng.sample(range(x.rank), x.rank)
    return transpose(b, unary(b, "Neg", transpose(b, x, order)), [order.index(i) for i in range(x.rank)])


def around(b, x):
    """The parts of an axis in another order."""
    axis = b.rng.randrange(x.rank)
    return concat(b, [slice_of(b, x, axis, 1, None), slice_of(b, x, axis, 0, 1)], axis) if x.shape[axis] else x


def squared(b, x):
    return unary(b, "Tanh", matmul(b, x, b.weight(x.type, (x.shape[-1], x.shape[-1])))) if x.count else x


def centred(b, x):
    return binary(b, "Sub", x, reduce(b, "ReduceMax", x, [-1])) if x.count else softmax(b, x)


def inner_branch(b, x, pool):
    condition = b.input("bool", ())
    then = body_of(b, b.fresh(), [], lambda: [step(b, x, pool, False)])
    otherwise = body_of(b, b.fresh(), [], lambda: [step(b, x, pool, False)])
    return b.op("If", [condition], x.type, x.shape, then_branch=then, else_branch=otherwise)


def body_of(b, name, inputs, make):
    with b.body() as nodes:
        outputs = make()
        outputs = [b.nodes("Identity", [value], [(value.type, value.shape)])[0] for value in outputs]
    return helper.make_graph(nodes, name, [info(value) for value in inputs], [info(value) for value in outputs])


def branch(b, pool):
    x = readable(b, pool)
    condition = b.input("bool", ()) if b.chance(0.6) else b.exact(b.chance(0.5), "bool")
    then = body_of(b, "then", [], lambda: [step(b, x, pool)])
    otherwise = body_of(b, "otherwise", [], lambda: [step(b, x, pool) if b.chance(0.7) else x])
    return b.op("If", [condition], x.type, x.shape, then_branch=then, else_branch=otherwise)


def loop(b, pool):
    x = readable(b, pool)
    passes, condition = Value(b.fresh(), "int64", ()), Value(b.fresh(), "bool", ())
    state = Value(b.fresh(), x.type, x.shape)
    count = b.rng.randint(1, 4)

    def make():
        after = step(b, state, [*pool, state])
        if b.chance(0.3):
            after = add(b, after, b.nodes("Cast", [passes], [(x.type, ())], to=TYPES[x.type])[0])
        goes_on = b.nodes("Less", [passes, b.exact(b.pick((1, 5)), "int64")], [("bool", ())])[0] if b.chance(0.3) else condition
        return [goes_on, after, step(b, after, pool)]

    body = body_of(b, "body", [passes, condition, state], make)
    start = b.exact(True, "bool") if b.chance(0.6) else None
    last, collected = b.nodes("Loop", [b.exact(count, "int64"), start, x], [(x.type, x.shape), (x.type, (None, *x.shape))], body=body)
    return b.disturbed(b.pick((last, last, collected)))


def growing(b, pool):
    """A Loop whose state becomes longer, and an If whose branches give other sizes."""
    x = readable(b, pool)
    if not x.rank or not x.count or x.count > 500:
        raise Invalid
    rows = (None, *x.shape[1:])
    passes, condition, state = Value(b.fresh(), "int64", ()), Value(b.fresh(), "bool", ()), Value(b.fresh(), x.type, rows)

    def make():
        longer = concat(b, [state, step(b, x, pool, False)], 0)
        return [condition, unary(b, "Neg", longer)]

    body = body_of(b, "body", [passes, condition, state], make)
    last = b.nodes("Loop", [b.exact(b.rng.randint(1, 3), "int64"), None, x], [(x.type, rows)], body=body)[0]
    if b.chance(0.5):
        then = body_of(b, "then", [], lambda: [unary(b, "Abs", last)])
        otherwise = body_of(b, "otherwise", [], lambda: [unary(b, "Neg", x)])
        last = b.nodes("If", [b.input("bool", ())], [(x.type, rows)], then_branch=then, else_branch=otherwise)[0]
    return b.disturbed(last)


def scan(b, pool):
    x = readable(b, pool)
    if x.rank < 2 or not x.shape[0]:
        raise Invalid
    row = x.shape[1:]
    state, part = Value(b.fresh(), x.type, row), Value(b.fresh(), x.type, row)

    def make():
        after = step(b, add(b, state, part), pool)
        return [after, step(b, after, [part])]

    body = body_of(b, "body", [state, part], make)
    last, rows = b.nodes("Scan", [b.weight(x.type, row), x], [(x.type, row), (x.type, x.shape)], body=body, num_scan_inputs=1)
    return b.disturbed(b.pick((last, rows)))
