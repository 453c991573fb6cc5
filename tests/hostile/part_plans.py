"""Plans of small models that ask for much: tables, steps, and what passes compare with each other (libonnxkit/plan)."""

import struct
import zipfile

from box import fault_of
from onnx_bytes import INT64, UINT8, attribute, function, graph, model, node, tensor, tensor_attribute, value_info
from part_memory import npy
from part_time import quick

RUN = ["run", "m.onnx", "-b", "cpu"]
X = [value_info("x", [4])]


def integers(name, numbers):
    return tensor(name, [len(numbers)], b"".join(number.to_bytes(8, "little", signed=True) for number in numbers), INT64)


def chain(count, make):
    """Nodes make(i, read, written), each of which reads what the one before it wrote."""
    return [make(i, "x" if i == 0 else f"v{i}", f"v{i + 1}") for i in range(count)]


def bounded(box, check, what, data, memory, more=()):
    box.put("m.onnx", data)
    result = box.run(*RUN, *more)
    check(what, fault_of(result, memory=memory, cpu=5, status=0), result.note())


def case_matrix_of_a_resize(box, check):
    nodes = [node("Resize", ["x", "", "", "sizes"], ["y"], [attribute("mode", "linear"), attribute("antialias", 1)])]
    data = model(graph(nodes, [value_info("x", [1, 1, 40_000])], [value_info("y", [1, 1, 4_000])], [integers("sizes", [1, 1, 4_000])]))
    bounded(box, check, "run", data, 200 << 20)
    bounded(box, check, "run --memory-limit", data, 200 << 20, ["--memory-limit", "100MiB"])


def case_matrices_of_transforms(box, check):
    equal = chain(80, lambda i, read, written: node("DFT", [read, "", "axis"], [written]))
    axis = tensor("axis", [], (1).to_bytes(8, "little"), INT64)
    bounded(box, check, "equal ones", model(graph(equal, [value_info("x", [1, 1024, 2])], [value_info("v80", [1, 1024, 2])], [axis]), opset=20),
            200 << 20)
    lengths = range(1000, 1080)
    nodes = [node("DFT", ["x", f"n{n}", "axis"], [f"y{n}"]) for n in lengths]
    constants = [axis] + [tensor(f"n{n}", [], n.to_bytes(8, "little"), INT64) for n in lengths]
    bounded(box, check, "of many lengths",
            model(graph(nodes, [value_info("x", [1, 1024, 2])], [value_info(f"y{n}", [1, n, 2]) for n in lengths], constants), opset=20), 1 << 30)
    bounded(box, check, "of many lengths, --memory-limit",
            model(graph(nodes, [value_info("x", [1, 1024, 2])], [value_info(f"y{n}", [1, n, 2]) for n in lengths], constants), opset=20), 300 << 20,
            ["--memory-limit", "50MiB"])


def case_bodies_of_contrib_operators(box, check):
    nodes = chain(3_000, lambda i, read, written: node("QuickGelu", [read], [written], domain="com.microsoft"))
    bounded(box, check, "run", model(graph(nodes, X, [value_info(f"v{len(nodes)}", [4])]), domains=["com.microsoft"]), 200 << 20)


def case_ports_of_a_function(box, check):
    def make(box, share):
        ports, calls = 60_000 // share, 28 // share  # inference itself looks at all ports of each call
        one = function("F", [f"a{i}" for i in range(ports)], ["b"], [node("Neg", ["a0"], ["b"])])
        nodes = chain(calls, lambda i, read, written: node("F", [read], [written], domain="f"))
        box.put("m.onnx", model(graph(nodes, X, [value_info(f"v{calls}", [4])]), domains=["f"], functions=[one]))

    make(box, 1)
    quick(box, check, "run", RUN, make)


def case_planes_of_a_filter(box, check):
    for op, most in (("Conv", 100_000), ("ConvTranspose", 10_000)):  # of which the reference takes the square
        def make(box, share):
            depth = most // share
            image, behind = ([1, 1, depth, 1, 1], [1, 1, 1, 1, 1]) if op == "Conv" else ([1, 1, 1, 1, 1], [1, 1, depth, 1, 1])
            weights = tensor("w", [1, 1, depth, 1, 1], bytes(4 * depth))
            box.put("m.onnx", model(graph([node(op, ["x", "w"], ["y"])], [value_info("x", image)], [value_info("y", behind)], [weights])))

        make(box, 1)
        quick(box, check, op, RUN, make)


def case_many_nodes(box, check):
    def steps(i, read, written):
        return node("CumSum", [read, "axis"], [written]) if i % 2 else node("Softmax", [read], [written])

    def reshapes(i, read, written):
        return node("Reshape", [read, "wide" if i % 2 else "square"], [written])

    def almost_gelu(i, read, written):
        return node("Erf", [read], [written])

    for what, op in (("values in the arena", steps), ("reshapes", reshapes), ("patterns that are missed", almost_gelu)):
        def make(box, share):
            count = 60_000 // share - 1
            constants = [tensor("axis", [], bytes(8), INT64), integers("square", [2, 2]), integers("wide", [4])]
            box.put("m.onnx", model(graph(chain(count, op), X, [value_info(f"v{count}", None)], constants)))

        make(box, 1)
        quick(box, check, what, RUN, make)


def case_inputs(box, check):
    def make(box, share):
        names = [f"i{i}" for i in range(40_000 // share)]
        box.put("m.onnx", model(graph([node("Sum", names, ["y"])], [value_info(name, [1]) for name in names], [value_info("y", [1])])))
        with zipfile.ZipFile(box.path("x.npz"), "w") as archive:
            for name in names:
                archive.writestr(name + ".npy", npy([1]) + bytes(4))

    make(box, 1)
    quick(box, check, "run", [*RUN, "-i", "x.npz"], make)


def case_many_ports(box, check):
    def outputs(count):
        nodes = [node("Mul", ["x", f"c{i % 5}"], [f"o{i}"]) for i in range(count)]
        constants = [tensor(f"c{i}", [1], bytes(4)) for i in range(5)]
        return graph(nodes, X, [value_info(f"o{i}", [4]) for i in range(count)], constants)

    def values_at_once(count):
        nodes = [node("Mul", ["x", f"c{i}"], [f"o{i}"]) for i in range(count)] + [node("Softmax", [f"o{i}"], [f"s{i}"]) for i in range(count)]
        nodes.append(node("Sum", [f"s{i}" for i in range(count)], ["y"]))
        return graph(nodes, X, [value_info("y", [4])], [tensor(f"c{i}", [1], struct.pack("<f", i)) for i in range(count)])

    for what, of in (("outputs", outputs), ("values at once", values_at_once)):
        def make(box, share):
            box.put("m.onnx", model(of(40_000 // share)))

        make(box, 1)
        quick(box, check, what, RUN, make)


def case_sizes_of_the_run(box, check):
    def make(box, share):
        nodes = [node("IsNaN", ["x"], ["is_nan"]), node("Not", ["is_nan"], ["kept"])]
        nodes += chain(8_000 // share, lambda i, read, written: node("Compress", [read, "kept"], [written], [attribute("axis", 0)]))
        box.put("m.onnx", model(graph(nodes, [value_info("x", [100])], [value_info(f"v{len(nodes) - 2}", ["k"])])))

    make(box, 1)
    quick(box, check, "one behind the other", RUN, make)


def case_sequences(box, check):
    def inserted(count):
        nodes = [node("SequenceEmpty", [], ["q0"])]
        nodes += [node("SequenceInsert", [f"q{i}", "x"], [f"q{i + 1}"]) for i in range(count)]
        return graph([*nodes, node("ConcatFromSequence", [f"q{count}"], ["y"], [attribute("axis", 0)])], X, [value_info("y", None)])

    def constants(count):
        nodes = [node("SequenceEmpty", [], ["q0"])]
        nodes += [node("SequenceInsert", [f"q{i}", "c"], [f"q{i + 1}"]) for i in range(count)]
        return graph([*nodes, node("SequenceLength", [f"q{count}"], ["y"])], X, [value_info("y", [], INT64)], [tensor("c", [256], bytes(1024))])

    def erased(count):
        nodes = [node("SplitToSequence", ["x"], ["q0"], [attribute("axis", 0)])]
        nodes += [node("SequenceErase", [f"q{i}"], [f"q{i + 1}"]) for i in range(count)]
        return graph([*nodes, node("SequenceLength", [f"q{count}"], ["y"])], [value_info("x", [count])], [value_info("y", [], INT64)])

    def taken(count):
        nodes = [node("SplitToSequence", ["x"], ["q"], [attribute("axis", 0)])]
        nodes += [node("SequenceAt", ["q", f"i{i % 5}"], [f"o{i}"]) for i in range(count)]
        return graph([*nodes, node("Sum", [f"o{i}" for i in range(count)], ["y"])], [value_info("x", [count])], [value_info("y", None)],
                     [tensor(f"i{i}", [], i.to_bytes(8, "little"), INT64) for i in range(5)])

    for what, of in (("inserts", inserted), ("inserts of a constant", constants), ("erasures", erased), ("elements", taken)):
        def make(box, share):
            box.put("m.onnx", model(of(8_000 // share)))

        make(box, 1)
        quick(box, check, what, RUN, make)


def case_positions_of_the_greatest(box, check):
    count = 16
    pools = [node("MaxPool", ["x"], [f"y{i}", f"at{i}"], [attribute("kernel_shape", [3, 3]), attribute("strides", [1000, 1000 + i])])
             for i in range(count)]
    outputs = [value for i in range(count) for value in (value_info(f"y{i}"), value_info(f"at{i}", element=INT64))]
    bounded(box, check, "run", model(graph(pools, [value_info("x", [1, 1, 2_800, 2_800])], outputs)), 700 << 20)


def case_windows_that_are_counted(box, check):
    place = [tensor("s", [], struct.pack("<f", 1)), tensor("z", [], b"\0", UINT8)]
    pool = node("QLinearAveragePool", ["x", "s", "z", "s", "z"], ["y"], [attribute("kernel_shape", [8192, 1])], domain="com.microsoft")
    x = [value_info("x", [1, 1, 1 << 20, 1], UINT8)]
    box.put("m.onnx", model(graph([pool], x, [value_info("y", None, UINT8)], place), domains=["com.microsoft"]))
    result = box.run(*RUN, "--time-limit", "300ms")
    check("run --time-limit", fault_of(result, cpu=5, status=3, says="time-limit"), result.note())


def case_constants_that_are_folded(box, check):
    two = tensor_attribute("value", tensor("v", [1], struct.pack("<f", 2)))
    nodes = [node("ConstantOfShape", ["n"], ["c"], [two]), node("Sqrt", ["c"], ["d"]), node("ReduceSum", ["d"], ["r"]), node("Mul", ["x", "r"], ["y"])]
    data = model(graph(nodes, X, [value_info("y", None)], [integers("n", [15_000_000])]))
    bounded(box, check, "run", data, 500 << 20)
    box.put("m.onnx", data)
    result = box.run(*RUN, "--memory-limit", "10MiB")
    check("run --memory-limit", fault_of(result, memory=100 << 20, status=3, says="memory-limit"), result.note())
