"""Names that steer a terminal or a log, everywhere in a model, on the command line and in files of options."""

import os
import re

from box import fault_of
from onnx_bytes import (attribute, entry, field, function, graph, graph_attribute, model, node, tensor, tensor_attribute,
                        value_info)

STEERS = "\x1b[2J\x07\n::error title=hostile::\r\u009b2J\u202e\u2066\u2028\x7f\udcff"  # the last is the byte 0xff


def name(what):
    return what + STEERS


def branch(output):
    return graph([node("Identity", [name("x")], [name(output)], name=name("inner"))],
                 outputs=[value_info(name(output), [name("N"), 3])], name=name("branch"))


def hostile_model(broken):
    nodes = [
        node("If", [name("c")], [name("i")], [graph_attribute("then_branch", branch("t")), graph_attribute("else_branch", branch("e"))],
             name=name("if")),
        node(name("F"), [name("i")], [name("f")], name=name("call"), domain=name("d")),
        node("Add", [name("f"), name("w")], [name("y")], [attribute(name("unknown"), name("v"))] if broken else [], name=name("add")),
        node("Relu", [name("nowhere") if broken else name("y")], [name("z")], name=name("relu")),
    ]
    if broken:
        nodes.append(node(name("NoSuchOp"), [name("z")], [name("q")], [attribute("axis", name("text"))]))
        nodes.append(node("Cast", [name("z")], [name("r")], name=name("cast")))
        nodes.append(node("Gemm", [name("z"), name("w")], [name("s")], [tensor_attribute(name("t"), tensor(name("w"), [2], b"1"))]))
    more = field(2, name("producer")) + field(3, name("version")) + field(4, name("domain")) + field(6, name("doc"))
    more += field(14, entry(name("key"), name("value")))
    body = [node("Neg", [name("a")], [name("b")], name=name("neg"))]
    return model(
        graph(nodes, [value_info(name("x"), [name("N"), 3]), value_info(name("c"), [], element=9)],
              [value_info(name("z"), [name("M"), 3]), value_info(name("y"), [name("N"), 4 if broken else 3])],
              [tensor(name("w"), [3], bytes(12))], name=name("graph")),
        more=more, domains=[name("d")], functions=[function(name("F"), [name("a")], [name("b")], body, domain=name("d"))])


def printed(box, check, what, words, statuses=None):
    result = box.run(*words)
    fault = fault_of(result, status=statuses)
    if not fault and re.search(rb"^::", result.out + result.err, re.M):
        fault = "a line begins with ::"
    try:
        (result.out + result.err).decode()
    except UnicodeDecodeError as error:
        fault = fault or f"is not UTF-8: {error}"
    check(what, fault, result.note())


def case_every_command(box, check):
    folder = "m" + STEERS.replace("/", "")
    for kind in ("sound", "broken"):
        path = box.put(f"{folder}/{kind}{STEERS}.onnx", hostile_model(kind == "broken"))
        for words in (["check"], ["check", "--fix", "-o", "fixed.onnx"], ["check", "--format", "json"], ["check", "--format", "sarif"],
                      ["infer"], ["infer", "--format", "json"], ["infer", "--why", name("z")],
                      ["inspect"], ["inspect", "--format", "json"], ["inspect", "--format", "dot"],
                      ["run"], ["run", "--format", "json"], ["run", "--profile"],
                      ["upgrade", "--opset", "21", "-o", "up.onnx"], ["upgrade", "--opset", "21", "--dry-run"],
                      ["upgrade", "--opset", "21", "--dry-run", "--format", "json"],
                      ["downgrade", "--opset", "9", "--dry-run"],
                      ["convert", name("out") + ".onnx"], ["convert", "out.json"], ["convert", "--opset", "7", "o.onnx"],
                      ["run", "--tap", name("nowhere")], ["run", "--dim", name("Q") + "=2"], ["run", "-i", name("q") + "=no.npy"]):
            printed(box, check, f"{kind}: {' '.join(w for w in words if STEERS not in w)}", [words[0], path, *words[1:]])
        printed(box, check, f"{kind}: diff", ["diff", path, path])
        printed(box, check, f"{kind}: diff --layers", ["diff", path, path, "--layers"])


def case_words_of_the_user(box, check):
    box.put("good.onnx", hostile_model(False))
    box.put(name("config") + ".yaml", name("no-such-option").encode("utf-8", "surrogateescape") + b": 1\n")
    box.put("words.yaml", b'"format\\e[2J\\n::error::": 1\n')
    box.put("bad.yaml", b'"a\x1b[2J": [\n')
    for what, words in (("name of a config file", ["inspect", "--config", name("config") + ".yaml", "good.onnx"]),
                        ("missing config file", ["inspect", "--config", name("none"), "good.onnx"]),
                        ("word in a config file", ["inspect", "--config", "words.yaml", "good.onnx"]),
                        ("broken config file", ["inspect", "--config", "bad.yaml", "good.onnx"]),
                        ("option", ["check", "--" + name("x"), "good.onnx"]),
                        ("command", [name("x")]),
                        ("choice", ["check", "--format", name("x"), "good.onnx"]),
                        ("number", ["run", "--memory-limit", name("1"), "good.onnx"]),
                        ("operator", ["ops", name("x")]),
                        ("missing model", ["inspect", name("x")]),
                        ("schemas", ["check", "--schemas", name("x"), "good.onnx"]),
                        ("target", ["check", "--target", name("x"), "good.onnx"]),
                        ("code", ["check", "--explain", name("x")]),
                        ("suppressed code", ["check", "--suppress", name("x"), "good.onnx"]),
                        ("backend", ["run", "-b", name("x"), "good.onnx"])):
        printed(box, check, what, words)


def case_operators_of_a_pack(box, check):
    steering = r'"S\e[2J\n::error::\u009b\u202e"'
    box.put("pack.yaml", f"""domain: {steering}
operators:
  - name: {steering}
    since_version: 1
    inputs: [{{name: {steering}, type: T}}]
    outputs: [{{name: {steering}, type: T}}]
    types: {{T: [tensor(float)]}}
""".encode())
    printed(box, check, "ops", ["ops", "--schemas", "pack.yaml"])
    printed(box, check, "ops --format json", ["ops", "--schemas", "pack.yaml", "--format", "json"])
