"""Many of one thing: what is quadratic in the number of attributes, graphs, functions, inputs or tensors takes minutes here.

A machine may be slow, so a time alone is no fault below the 10 s that hold for every command: one above `SECONDS` is a fault where it is more than
eight times that of a file of a quarter of the size (linear: four times; quadratic: sixteen times), or of half the depth."""

from box import Box, fault_of
from onnx_bytes import (INT64, attribute, field, function, graph, graph_attribute, model, node, tensor, tensor_attribute, value_info)

SECONDS = 2  # of CPU
MOST_GROWTH = 8
QUARTER = 4


def growth_fault(program, result, words, make):
    """Of a run that took long: whether it takes longer than the size of the file explains."""
    with Box(program) as box:
        make(box, QUARTER)
        smaller = box.run(*words)
    growth = result.cpu / max(smaller.cpu, 0.01)
    return f"{result.cpu:.1f} s of CPU, {growth:.0f} times those of a quarter of the size" if growth > MOST_GROWTH else ""


def quick(box, check, what, words, make):
    """`make(box, share)` writes the files, so much smaller as `share` says."""
    result = box.run(*words)
    fault = fault_of(result)
    if not fault and result.cpu > SECONDS:
        fault = growth_fault(box.program, result, words, make)
    check(what, fault, result.note())


def case_attributes_of_a_node(box, check):
    for op in ("Relu", "Conv", "NoSuchOp"):
        def make(box, share):
            many = [attribute(f"a{i}", i) for i in range(300_000 // share)]
            inputs = ["x", "x"] if op == "Conv" else ["x"]
            box.put("m.onnx", model(graph([node(op, inputs, ["y"], many)], [value_info("x", [3])], [value_info("y", [3])])))

        make(box, 1)
        for words in (["check"], ["infer"], ["inspect"], ["run"], ["upgrade", "--opset", "21", "-o", "up.onnx"],
                      ["downgrade", "--opset", "9", "--dry-run"]):
            quick(box, check, f"{op}: {words[0]}", [words[0], "m.onnx", *words[1:]], make)


def case_subgraphs_with_hidden_names(box, check):
    def branch(i):
        return graph([node("Neg", ["x"], ["hidden"]), node("Relu", ["hidden"], [f"o{i}"])], outputs=[value_info(f"o{i}", [3])], name="b")

    def make(box, share):
        nodes = [node("Neg", ["x"], ["hidden"])]
        for i in range(5_000 // share):
            nodes.append(node("If", ["c"], [f"y{i}"], [graph_attribute("then_branch", branch(2 * i)), graph_attribute("else_branch", branch(2 * i + 1))]))
        box.put("m.onnx", model(graph(nodes, [value_info("x", [3]), value_info("c", [], element=9)], [value_info("hidden", [3])])))

    make(box, 1)
    quick(box, check, "check", ["check", "m.onnx"], make)
    quick(box, check, "check --fix", ["check", "--fix", "--output", "fixed.onnx", "m.onnx"], make)
    quick(box, check, "upgrade", ["upgrade", "m.onnx", "--opset", "21", "-o", "up.onnx", "--no-verify"], make)


def case_functions_of_one_name(box, check):
    def make(box, share):
        one = function("F", ["a"], ["b"], [node("Neg", ["a"], ["b"])])
        calls = graph([node("F", ["x"], ["y"], domain="f")], [value_info("x", [3])], [value_info("y", [3])])
        box.put("m.onnx", model(calls, domains=["f"], functions=[one] * (200_000 // share)))

    make(box, 1)
    for words in (["check"], ["infer"], ["inspect"], ["upgrade", "--opset", "21", "-o", "up.onnx"]):
        quick(box, check, words[0], [words[0], "m.onnx", *words[1:]], make)


def case_inputs_of_a_graph(box, check):
    def make(box, share):
        inputs = [value_info(f"x{i}", [1]) for i in range(100_000 // share)]
        box.put("m.onnx", model(graph([node("Relu", ["x0"], ["y"])], inputs, [value_info("y", [1])])))

    make(box, 1)
    for command in ("check", "infer", "inspect", "run"):
        quick(box, check, command, [command, "m.onnx"], make)


def case_tensors_that_share_a_file(box, check):
    def make(box, share):
        size = 64 << 20
        with open(box.path("w.bin"), "wb") as file:
            file.truncate(size)
        tensors = [tensor(f"w{i}", [size // 4], external={"location": "w.bin"}) for i in range(1_000 // share)]
        box.put("m.onnx", model(graph([node("Relu", ["w0"], ["y"])], [], [value_info("y", [size // 4])], tensors)))

    make(box, 1)
    quick(box, check, "check", ["check", "m.onnx"], make)
    quick(box, check, "check --inspect-weights", ["check", "--inspect-weights", "m.onnx"], make)
    quick(box, check, "inspect", ["inspect", "m.onnx"], make)
    quick(box, check, "infer", ["infer", "m.onnx"], make)


def case_functions_twice_in_each_other(box, check):
    def make(box, share):
        depth = 40 if share == 1 else 20
        functions = [function("F0", ["a"], ["b"], [node("Neg", ["a"], ["b"])])]
        for i in range(1, depth + 1):
            nodes = [node(f"F{i - 1}", ["a"], ["m"], domain="f"), node(f"F{i - 1}", ["m"], ["b"], domain="f")]
            functions.append(function(f"F{i}", ["a"], ["b"], nodes, imports=[("f", 1)]))
        calls = graph([node(f"F{depth}", ["x"], ["y"], domain="f")], [value_info("x", [3])], [value_info("y", [3])])
        box.put("m.onnx", model(calls, domains=["f"], functions=functions))

    make(box, 1)
    for words in (["check"], ["infer"], ["inspect"], ["upgrade", "--opset", "21", "-o", "up.onnx", "--verify-limit", "0.5"],
                  ["run", "--time-limit", "500ms"]):
        quick(box, check, words[0], [words[0], "m.onnx", *words[1:]], make)


def case_loops_in_loops(box, check):
    def nested(depth):
        outer = f"v{depth + 1}"
        inner = [node("Neg", [outer], [f"r{depth}"])] if depth == 0 else [nested(depth - 1)]
        body = graph([*inner, node("Identity", [f"c{depth}"], [f"k{depth}"]), node("Concat", [outer, f"r{depth}"], [f"o{depth}"], [attribute("axis", 0)])],
                     [value_info(f"i{depth}", [], INT64), value_info(f"c{depth}", [], 9), value_info(outer, ["n"])],
                     [value_info(f"k{depth}", [], 9), value_info(f"o{depth}", ["m"])], name=f"body{depth}")
        start = f"v{depth + 2}"
        return node("Loop", ["count", "cond", start], [f"r{depth + 1}"], [graph_attribute("body", body)])

    def make(box, share):
        depth = 29 if share == 1 else 14
        body = [nested(depth)]
        constants = [tensor("count", [], (1).to_bytes(8, "little"), INT64), tensor("cond", [], b"\1", 9)]
        box.put("m.onnx", model(graph(body, [value_info(f"v{depth + 2}", ["n"])], [value_info(f"r{depth + 1}", ["m"])], constants)))

    make(box, 1)
    # upgrade infers types before and after, and runs the model as far as it may.
    for words in (["check"], ["infer"], ["inspect"], ["run", "--time-limit", "500ms"],
                  ["upgrade", "--opset", "21", "-o", "up.onnx", "--verify-limit", "0.5"]):
        quick(box, check, words[0], [words[0], "m.onnx", *words[1:]], make)
