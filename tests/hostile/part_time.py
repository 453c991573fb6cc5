"""Many of one thing: what is quadratic in the number of attributes, graphs, functions, inputs or tensors takes minutes here."""

from box import fault_of
from onnx_bytes import (INT64, attribute, field, function, graph, graph_attribute, model, node, tensor, tensor_attribute, value_info)

SECONDS = 2  # of CPU


def quick(box, check, what, words, seconds=SECONDS, **more):
    result = box.run(*words)
    check(what, fault_of(result, cpu=seconds, **more), result.note())


def case_attributes_of_a_node(box, check):
    many = [attribute(f"a{i}", i) for i in range(300_000)]
    for op in ("Relu", "Conv", "NoSuchOp"):
        inputs = ["x", "x"] if op == "Conv" else ["x"]
        box.put("m.onnx", model(graph([node(op, inputs, ["y"], many)], [value_info("x", [3])], [value_info("y", [3])])))
        for words in (["check"], ["infer"], ["inspect"], ["run"], ["upgrade", "--opset", "21", "-o", "up.onnx"],
                      ["downgrade", "--opset", "9", "--dry-run"]):
            quick(box, check, f"{op}: {words[0]}", [words[0], "m.onnx", *words[1:]], seconds=3)


def case_subgraphs_with_hidden_names(box, check):
    def branch(i):
        return graph([node("Neg", ["x"], ["hidden"]), node("Relu", ["hidden"], [f"o{i}"])], outputs=[value_info(f"o{i}", [3])], name="b")

    nodes = [node("Neg", ["x"], ["hidden"])]
    for i in range(5_000):
        nodes.append(node("If", ["c"], [f"y{i}"], [graph_attribute("then_branch", branch(2 * i)), graph_attribute("else_branch", branch(2 * i + 1))]))
    box.put("m.onnx", model(graph(nodes, [value_info("x", [3]), value_info("c", [], element=9)], [value_info("hidden", [3])])))
    quick(box, check, "check", ["check", "m.onnx"])
    quick(box, check, "check --fix", ["check", "--fix", "--output", "fixed.onnx", "m.onnx"])
    quick(box, check, "upgrade", ["upgrade", "m.onnx", "--opset", "21", "-o", "up.onnx", "--no-verify"])


def case_functions_of_one_name(box, check):
    body = [node("Neg", ["a"], ["b"])]
    one = function("F", ["a"], ["b"], body)
    calls = graph([node("F", ["x"], ["y"], domain="f")], [value_info("x", [3])], [value_info("y", [3])])
    box.put("m.onnx", model(calls, domains=["f"], functions=[one] * 200_000))
    for words in (["check"], ["infer"], ["inspect"], ["upgrade", "--opset", "21", "-o", "up.onnx"]):
        quick(box, check, words[0], [words[0], "m.onnx", *words[1:]])


def case_inputs_of_a_graph(box, check):
    inputs = [value_info(f"x{i}", [1]) for i in range(100_000)]
    box.put("m.onnx", model(graph([node("Relu", ["x0"], ["y"])], inputs, [value_info("y", [1])])))
    for command in ("check", "infer", "inspect", "run"):
        quick(box, check, command, [command, "m.onnx"], seconds=3)


def case_tensors_that_share_a_file(box, check):
    size = 64 << 20
    with open(box.path("w.bin"), "wb") as file:
        file.truncate(size)
    tensors = [tensor(f"w{i}", [size // 4], external={"location": "w.bin"}) for i in range(1_000)]
    box.put("m.onnx", model(graph([node("Relu", ["w0"], ["y"])], [], [value_info("y", [size // 4])], tensors)))
    quick(box, check, "check", ["check", "m.onnx"])
    quick(box, check, "check --inspect-weights", ["check", "--inspect-weights", "m.onnx"])
    quick(box, check, "inspect", ["inspect", "m.onnx"])
    quick(box, check, "infer", ["infer", "m.onnx"])


def case_functions_twice_in_each_other(box, check):
    functions = [function("F0", ["a"], ["b"], [node("Neg", ["a"], ["b"])])]
    for i in range(1, 41):
        nodes = [node(f"F{i - 1}", ["a"], ["m"], domain="f"), node(f"F{i - 1}", ["m"], ["b"], domain="f")]
        functions.append(function(f"F{i}", ["a"], ["b"], nodes, imports=[("f", 1)]))
    calls = graph([node("F40", ["x"], ["y"], domain="f")], [value_info("x", [3])], [value_info("y", [3])])
    box.put("m.onnx", model(calls, domains=["f"], functions=functions))
    for words in (["check"], ["infer"], ["inspect"], ["upgrade", "--opset", "21", "-o", "up.onnx", "--verify-limit", "0.5"],
                  ["run", "--time-limit", "500ms"]):
        quick(box, check, words[0], [words[0], "m.onnx", *words[1:]])


def case_loops_in_loops(box, check):
    def nested(depth):
        outer = f"v{depth + 1}"
        inner = [node("Neg", [outer], [f"r{depth}"])] if depth == 0 else [nested(depth - 1)]
        body = graph([*inner, node("Identity", [f"c{depth}"], [f"k{depth}"]), node("Concat", [outer, f"r{depth}"], [f"o{depth}"], [attribute("axis", 0)])],
                     [value_info(f"i{depth}", [], INT64), value_info(f"c{depth}", [], 9), value_info(outer, ["n"])],
                     [value_info(f"k{depth}", [], 9), value_info(f"o{depth}", ["m"])], name=f"body{depth}")
        start = f"v{depth + 2}"
        return node("Loop", ["count", "cond", start], [f"r{depth + 1}"], [graph_attribute("body", body)])

    depth = 29
    body = [nested(depth)]
    constants = [tensor("count", [], (1).to_bytes(8, "little"), INT64), tensor("cond", [], b"\1", 9)]
    box.put("m.onnx", model(graph(body, [value_info(f"v{depth + 2}", ["n"])], [value_info(f"r{depth + 1}", ["m"])], constants)))
    for words in (["check"], ["infer"], ["inspect"], ["run", "--time-limit", "500ms"]):
        quick(box, check, words[0], [words[0], "m.onnx", *words[1:]])
    # Infers types before and after, and runs the model as far as it may.
    quick(box, check, "upgrade", ["upgrade", "m.onnx", "--opset", "21", "-o", "up.onnx", "--verify-limit", "0.5"], seconds=4)
