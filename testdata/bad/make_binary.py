#!/usr/bin/env python3
"""Writes the invalid models that the text syntax cannot say: broken bytes, storage forms, sparse tensors, training.

    make_binary.py      rewrites */bad-*.onnx, their corrected twins */ok-*.onnx and */cases.yaml beside this script

Each case names its code and place; the files are committed, so tests need no Python.
"""
import collections
import pathlib
import struct

import onnx
import yaml
from onnx import AttributeProto, ModelProto, TensorProto, helper, parser

HERE = pathlib.Path(__file__).parent
RELU = '<ir_version: 10, opset_import: ["": 21]> main (float[2] x) => (float[2] y) { y = Relu(x) }'
ADD = '<ir_version: 10, opset_import: ["": 21]> main (float[2, 3] x) => (float[2, 3] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> { y = Add(x, w) }'
IF = """<ir_version: 10, opset_import: ["": 21]> main (bool c, float[2] x) => (float[2] y) {
  y = If (c) <then_branch = positive () => (float[2] p) { p = Relu(x) }, else_branch = negative () => (float[2] n) { n = Neg(x) }> }"""

CASES = []  # (topic/name, code, place, why, bad bytes, corrected bytes)


def case(name, code, place, why, bad, good):
    CASES.append((name, code, place, why, *[m.SerializeToString() if isinstance(m, ModelProto) else m for m in (bad, good)]))


def changed(text, change):
    model = parser.parse_model(text)
    change(model)
    return model


def changed_weight(change, text=ADD):
    return changed(text, lambda model: change(model.graph.initializer[0]))


def raw(tensor, data=struct.pack("<6f", *range(6))):
    tensor.ClearField("float_data")
    tensor.raw_data = data


def delimited(field, payload):
    """One length-delimited protobuf field."""
    size, out = len(payload), bytes([field << 3 | 2])
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return out + bytes([size]) + payload


def container_cases():
    good = parser.parse_model(RELU).SerializeToString()
    weights = parser.parse_model(ADD).SerializeToString()

    def add(name, code, why, bad, corrected=good, place="model"):
        case(f"container/{name}", code, place, why, bad, corrected)

    add("empty", "empty-file", "Zero bytes.", b"")
    add("cut-in-half", "truncated-file", "The second half of the file is gone.", weights[: len(weights) // 2], weights)
    add("last-byte-missing", "truncated-file", "The last byte is gone.", good[:-1])
    add("cut-inside-a-number", "truncated-file", "The file ends inside a number of several bytes.", good + b"\x28\x80")
    add("reserved-wire-type", "malformed-protobuf", "Wire type 7 does not exist.", good + b"\x0f\x00")
    add("field-zero", "malformed-protobuf", "Fields are counted from 1.", good + b"\x02\x00")
    add("endless-number", "malformed-protobuf", "A number has at most ten bytes.", b"\x08" + b"\xff" * 11 + good)
    add("end-of-no-group", "malformed-protobuf", "A group ends that never began.", good + b"\x6c")
    add("member-longer-than-its-message", "malformed-protobuf", "A name reaches past the end of the graph that holds it.",
        delimited(7, b"\x12\x20main") + good, place="main")
    add("text", "not-onnx", "A text file.", b"This is a note about a model, not a model.\n")
    add("git-lfs-pointer", "not-onnx", "The pointer that stands for a file in Git LFS, fetched without it.",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1048576\n")
    add("zip-archive", "not-onnx", "A zip archive, as torch.save writes it.", b"PK\x03\x04\x14\x00\x00\x00\x00\x00" + bytes(60))
    add("error-page", "not-onnx", "What a download without permission leaves.", b"<!DOCTYPE html><html><body>404</body></html>\n")
    add("tensor-file", "not-onnx", "A TensorProto saved under the name of a model.",
        helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0]).SerializeToString())
    add("no-graph", "no-graph", "A ModelProto without a graph.", changed(RELU, lambda model: model.ClearField("graph")).SerializeToString())

    def text(field, value):
        return delimited(field, value.encode())

    def graph(nodes, output):
        return nodes + text(2, "g") + delimited(12, text(1, output))

    def node(op, reads, writes, attributes=b""):
        return delimited(1, text(1, reads) + text(2, writes) + text(4, op) + attributes)

    def branch(name, body):
        return delimited(5, text(1, name) + b"\xa0\x01\x05" + delimited(6, body))

    def value(field, name, element_type, shape):
        return delimited(field, text(1, name) + delimited(2, delimited(1, bytes([8, element_type]) + delimited(2, shape))))

    def nested(levels):
        """If inside If, as bytes: protobuf itself refuses to write messages that deep."""
        nodes = node("Relu", "x", "y0")
        for level in range(levels):
            otherwise = branch("else_branch", graph(node("Neg", "x", f"e{level}"), f"e{level}"))
            nodes = node("If", "c", f"y{level + 1}", branch("then_branch", graph(nodes, f"y{level}")) + otherwise)
        two = delimited(1, b"\x08\x02")
        main = nodes + text(2, "main") + value(11, "c", TensorProto.BOOL, b"") + value(11, "x", TensorProto.FLOAT, two)
        return b"\x08\x0a" + delimited(7, main + value(12, f"y{levels}", TensorProto.FLOAT, two)) + delimited(8, b"\x0a\x00\x10\x15")

    add("subgraphs-nested-too-deep", "nesting-depth", "Four hundred branches inside each other would exhaust the stack of most readers.", nested(400), nested(8), place="main")


def utf8_cases():
    text = """<ir_version: 10, opset_import: ["": 21], doc_string: "ZZdoc", metadata_props: ["key": "ZZvalue"]>
      ZZgraph (float[ZZdim] ZZin) => (float[n] y) <float[1] ZZw = {1}> { [ZZnode] ZZa = Add(ZZin, ZZw) y = LeakyRelu <alpha = 0.5> (ZZa) }"""
    good = parser.parse_model(text).SerializeToString()
    for what, place, token in [
        ("doc-string", "model", b"ZZdoc"), ("metadata-value", "model", b"ZZvalue"), ("graph-name", "main", b"ZZgraph"),
        ("dimension-name", "main", b"ZZdim"), ("input-name", "main", b"ZZin"), ("initializer-name", "main", b"ZZw"),
        ("node-name", "main / node 0", b"ZZnode"), ("value-name", "main", b"ZZa"),
        ("operator-name", "main / node 1", b"LeakyRelu"), ("attribute-name", "main / node 1", b"alpha"),
    ]:
        case(f"utf8/{what}", "invalid-utf8", place, f"The {what.replace('-', ' ')} holds the byte FF, which UTF-8 never uses.",
             good.replace(token, b"\xff" + token[1:]), good)


def tensor_cases():
    good_raw = changed_weight(raw)

    def add(name, code, why, bad, good=good_raw):
        case(f"tensors/{name}", code, "main / initializer w", why, bad, good)

    def two_kinds(tensor):
        tensor.raw_data = struct.pack("<6f", *range(6))

    def other_field(tensor):
        tensor.ClearField("float_data")
        tensor.int64_data.extend(range(6))

    def string_as_raw(tensor):
        tensor.data_type = TensorProto.STRING
        raw(tensor, b"abcdef")

    def set_type(number):
        return lambda tensor: setattr(tensor, "data_type", number)

    def segment(tensor):
        tensor.segment.begin, tensor.segment.end = 0, 3

    add("raw-and-typed", "tensor-storage", "The values are there twice, as bytes and as floats.", changed_weight(two_kinds))
    add("two-typed-fields", "tensor-storage", "Values in float_data and in double_data.", changed_weight(lambda t: t.double_data.extend(range(6))))
    add("floats-in-the-integer-field", "tensor-storage", "Float values belong into float_data.", changed_weight(other_field))
    identity = ADD.replace("float[2, 3] w = {1, 2, 3, 4, 5, 6}", 'string[2, 3] w = {"a", "b", "c", "d", "e", "f"}').replace("y = Add(x, w)", "v = Identity(w) y = Relu(x)")
    add("string-as-raw", "tensor-storage", "Strings have no raw form.", changed_weight(lambda t: (t.ClearField("string_data"), string_as_raw(t)), identity),
        parser.parse_model(identity))
    add("type-undefined", "tensor-type", "Element type 0 is UNDEFINED.", changed_weight(set_type(0)))
    add("type-unknown", "tensor-type", "No element type has the number 77.", changed_weight(set_type(77)))
    add("segment", "tensor-segment", "Segments are reserved and no reader joins them.", changed_weight(segment))
    add("raw-too-short", "tensor-size", "20 bytes where 6 floats need 24.", changed_weight(lambda t: raw(t, bytes(20))))
    add("raw-too-long", "tensor-size", "28 bytes where 6 floats need 24.", changed_weight(lambda t: raw(t, bytes(28))))
    add("raw-odd-bytes", "tensor-size", "23 bytes are no whole number of floats.", changed_weight(lambda t: raw(t, bytes(23))))
    add("no-data-at-all", "tensor-size", "Six elements and not one value.", changed_weight(lambda t: t.ClearField("float_data")))
    add("dimensions-overflow-to-fit", "tensor-dims", "The product of the sizes wraps around to 24 bytes in 64-bit arithmetic.",
        changed_weight(lambda t: (raw(t), t.dims.__setitem__(slice(None), [2**62 + 2, 3, 4]))))

    def nibbles(count):
        def change(tensor):
            tensor.data_type = TensorProto.INT4
            del tensor.dims[:]
            tensor.dims.append(5)
            raw(tensor, bytes(count))
        return changed_weight(change, ADD.replace("y = Add(x, w)", "v = Cast <to = 6> (w) y = Relu(x)"))
    add("packed-too-short", "tensor-size", "Five 4-bit values need 3 bytes.", nibbles(2), nibbles(3))
    add("packed-not-packed", "tensor-size", "Five 4-bit values stored in a byte each.", nibbles(5), nibbles(3))

    def constant(change):
        text = '<ir_version: 10, opset_import: ["": 21]> main (float[2] x) => (float[2] y) { c = Constant <value = float[2] {1.0, 2.0}> () y = Add(x, c) }'
        return changed(text, lambda model: change(model.graph.node[0].attribute[0].t))
    case("tensors/constant-raw-too-short", "tensor-size", "main / node 0 / attribute value", "Tensors in attributes are measured, too.",
         constant(lambda t: raw(t, bytes(4))), constant(lambda t: raw(t, bytes(8))))
    case("tensors/constant-type-undefined", "tensor-type", "main / node 0 / attribute value", "Element type 0 is UNDEFINED.",
         constant(set_type(0)), constant(lambda t: None))


def sparse_cases():
    constant = ADD.replace("<float[2, 3] w = {1, 2, 3, 4, 5, 6}> {", "{ w = Constant ()")

    def sparse(values=(1.0, 2.0), indices=(1, 4), dims=(2, 3), index_dims=None, index_type=TensorProto.INT64, name="w", value_dims=None):
        values_proto = helper.make_tensor(name, TensorProto.FLOAT, value_dims or [len(values)], values)
        indices_proto = helper.make_tensor("", index_type, index_dims or [len(indices)], indices)
        return helper.make_sparse_tensor(values_proto, indices_proto, list(dims))

    def model(**what):
        return changed(constant, lambda m: m.graph.node[0].attribute.append(helper.make_attribute("sparse_value", sparse(**what))))

    good = model()

    def add(name, why, bad, corrected=good):
        case(f"sparse/{name}", "sparse-tensor", "main / node 0 / attribute sparse_value", why, bad, corrected)

    add("index-beyond-the-end", "Element 6 of 6.", model(indices=(1, 6)))
    add("index-negative", "Indices count from 0.", model(indices=(-1, 4)))
    add("indices-not-sorted", "Indices are in ascending order.", model(indices=(4, 1)))
    add("index-twice", "One element has two values.", model(indices=(4, 4)))
    add("more-values-than-indices", "Three values at two places.", model(values=(1.0, 2.0, 3.0)))
    add("indices-of-int32", "Indices are int64.", model(index_type=TensorProto.INT32))
    add("values-not-a-vector", "The values are a vector.", model(value_dims=[2, 1]))
    pairs = model(indices=(0, 1, 1, 1), index_dims=[2, 2])
    add("pair-beyond-the-end", "Row 2 of 2.", model(indices=(0, 1, 2, 1), index_dims=[2, 2]), pairs)
    add("pairs-not-sorted", "Index tuples are in ascending order.", model(indices=(1, 1, 0, 1), index_dims=[2, 2]), pairs)
    add("tuples-of-three", "The tensor has two axes.", model(indices=(0, 1, 0, 1, 1, 0), index_dims=[2, 3]), pairs)
    add("negative-dimension", "The dense shape has a negative size.", model(dims=(2, -3)))

    def initializer(**what):
        return changed(ADD, lambda m: (m.graph.ClearField("initializer"), m.graph.sparse_initializer.append(sparse(**what))))

    good = initializer()
    case("sparse/initializer-index-beyond-the-end", "sparse-tensor", "main / initializer w", "Element 6 of 6, in a weight.", initializer(indices=(1, 6)), good)
    case("sparse/initializer-without-a-name", "empty-name", "main", "A sparse weight has the name of its values.", initializer(name=""), good)


def attribute_cases():
    leaky = RELU.replace("Relu(x)", "LeakyRelu <alpha = 0.5> (x)")
    good = parser.parse_model(leaky)

    def add(name, code, why, change, place="main / node 0 / attribute alpha"):
        case(f"attributes/{name}", code, place, why, changed(leaky, lambda m: change(m.graph.node[0].attribute[0])), good)

    add("without-a-name", "attribute-empty", "An attribute needs a name.", lambda a: a.ClearField("name"), "main / node 0")
    add("without-type-and-value", "attribute-empty", "Neither type nor value.", lambda a: (a.ClearField("type"), a.ClearField("f")))
    add("type-against-value", "attribute-type", "The type says INT and the value is a float.", lambda a: setattr(a, "type", AttributeProto.INT))
    add("two-values", "attribute-type", "A float and an integer at once.", lambda a: setattr(a, "i", 3))
    add("unknown-type", "attribute-type", "No attribute type has the number 99.", lambda a: a.MergeFromString(b"\xa0\x01\x63"))
    add("reference-and-value", "ref-attribute", "A reference to the caller's attribute and a value.", lambda a: setattr(a, "ref_attr_name", "slope"))


def graph_cases():
    good = parser.parse_model(IF)
    case("graph/no-subgraph-name", "graph-name", "main / node 0 / then_branch", "Subgraphs must have a name, too.",
         changed(IF, lambda m: m.graph.node[0].attribute[0].g.ClearField("name")), good)
    for name, number, code, why in [("undefined", 0, "missing-type", "Element type 0 is UNDEFINED."), ("unknown", 77, "declared-type", "No element type has the number 77.")]:
        case(f"graph/input-element-type-{name}", code, "main / input x", why,
             changed(RELU, lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", number)), parser.parse_model(RELU))

    def with_training(update_output="new_w", update_target="w"):
        def change(model):
            info = model.training_info.add()
            info.algorithm.name = "step"
            info.algorithm.node.append(helper.make_node("Neg", ["w"], ["new_w"]))
            info.algorithm.output.append(helper.make_tensor_value_info("new_w", TensorProto.FLOAT, [2, 3]))
            info.update_binding.add(key=update_target, value=update_output)
        return changed(ADD, change)
    ok = with_training()
    case("graph/training-updates-no-weight", "training-info", "model", "Only an initializer can be updated, and there is none called v.", with_training(update_target="v"), ok)
    case("graph/training-update-from-nowhere", "training-info", "model", "The algorithm has no output of this name.", with_training(update_output="newer_w"), ok)


def external_cases():
    def model(entries, location=TensorProto.EXTERNAL, values=None):
        def change(tensor):
            tensor.ClearField("float_data")
            if location is not None:
                tensor.data_location = location
            for key, value in entries.items():
                tensor.external_data.add(key=key, value=value)
            if values is not None:
                tensor.raw_data = values
        return changed_weight(change)

    good = model({"location": "weights.bin", "length": "24"})

    def add(name, code, why, bad):
        case(f"external/{name}", code, "main / initializer w", why, bad, good)

    add("no-entries", "external-location", "The tensor is external and says nothing about where.", model({}))
    add("raw-data-as-well", "tensor-storage", "The values are outside and inside.", model({"location": "weights.bin", "length": "24"}, values=bytes(24)))
    add("entries-of-an-internal-tensor", "tensor-size", "The data location says inside, and inside there is nothing.",
        model({"location": "weights.bin", "length": "24"}, location=TensorProto.DEFAULT))
    add("location-not-utf8", "invalid-utf8", "The file name holds the byte FF.",
        model({"location": "weights.bin"}).SerializeToString().replace(b"weights.bin", b"\xffeights.bin"))


def main():
    for make in (container_cases, utf8_cases, tensor_cases, sparse_cases, attribute_cases, graph_cases, external_cases):
        make()
    lists = collections.defaultdict(list)
    for name, code, place, why, bad, good in CASES:
        topic, stem = name.split("/")
        (HERE / topic).mkdir(exist_ok=True)
        (HERE / topic / f"bad-{stem}.onnx").write_bytes(bad)
        (HERE / topic / f"ok-{stem}.onnx").write_bytes(good)
        lists[topic].append({"file": f"bad-{stem}.onnx", "expect": f"error[{code}] {place}", "why": why})
    for topic, entries in lists.items():
        text = yaml.safe_dump(entries, sort_keys=False, width=130)
        (HERE / topic / "cases.yaml").write_text("# Written by ../make_binary.py; text models carry their expectation inside.\n" + text)
    print(f"{len(CASES)} binary cases in {len(lists)} folders")


if __name__ == "__main__":
    main()
