"""Writes the models of scripts/bench_check into a folder; weights that nobody reads are holes in sparse files."""
import os
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper

IR_VERSION = 10
OPSETS = [helper.make_opsetid("", 21)]


def tensor_info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model_of(nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "bench", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=IR_VERSION, producer_name="bench_models")


def one_node(path):
    onnx.save(model_of([helper.make_node("Relu", ["x"], ["y"])], [tensor_info("x", ["N", 4])], [tensor_info("y", ["N", 4])]), path)


def matmul_chain(count, width):
    """x times w0, w1, ...; the weights are left to the caller."""
    names = ["x", *(f"h{i}" for i in range(count - 1)), "y"]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]], f"layer{i}") for i in range(count)]
    return nodes, [tensor_info("x", ["N", width])], [tensor_info("y", ["N", width])]


def weights_100mb(path):
    nodes, inputs, outputs = matmul_chain(25, 1024)
    random = numpy.random.default_rng(1)
    weights = [onnx.numpy_helper.from_array(random.standard_normal((1024, 1024), numpy.float32), f"w{i}") for i in range(25)]
    onnx.save(model_of(nodes, inputs, outputs, weights), path)


def external_4gb(path):
    """16 weights of 256 MiB in one sidecar file."""
    width, count = 8192, 16
    nodes, inputs, outputs = matmul_chain(count, width)
    size = width * width * 4
    weights = []
    for i in range(count):
        weight = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[width, width], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", path.name + ".data"), ("offset", i * size), ("length", size)):
            weight.external_data.add(key=key, value=str(value))
        weights.append(weight)
    onnx.save(model_of(nodes, inputs, outputs, weights), path)
    with open(f"{path}.data", "wb") as file:
        file.truncate(count * size)


def varint(number):
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def header(field, length):
    """Tag and length of a length-delimited protobuf field."""
    return varint(field << 3 | 2) + varint(length)


def single_file_3gb(path):
    """12 weights of 256 MiB as raw_data of one protobuf, which no protobuf library writes beyond 2 GiB."""
    width, count = 8192, 12
    size = width * width * 4
    nodes, inputs, outputs = matmul_chain(count, width)
    model = model_of(nodes, inputs, outputs)
    graph = model.graph.SerializeToString()
    model.ClearField("graph")

    initializers = []
    for i in range(count):
        head = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[width, width]).SerializeToString()
        head += header(TensorProto.DESCRIPTOR.fields_by_name["raw_data"].number, size)
        field = onnx.GraphProto.DESCRIPTOR.fields_by_name["initializer"].number
        initializers.append(header(field, len(head) + size) + head)

    total = len(graph) + sum(len(head) + size for head in initializers)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
        file.write(header(onnx.ModelProto.DESCRIPTOR.fields_by_name["graph"].number, total) + graph)
        for head in initializers:
            file.write(head)
            file.seek(size, os.SEEK_CUR)
        file.truncate(file.tell())


def deep(path, count):
    """A chain of small layers: MatMul, Add, Relu, Reshape, Flatten."""
    inputs, outputs = [tensor_info("x", ["N", 8])], [tensor_info("y", ["N", 8])]
    nodes, last = [], "x"

    def add(op, *more, **attributes):
        nonlocal last
        output = "y" if len(nodes) == count - 1 else f"{op.lower()}_{len(nodes)}"
        nodes.append(helper.make_node(op, [last, *more], [output], f"/layer{len(nodes)}/{op}", **attributes))
        last = output

    while len(nodes) < count:
        add("MatMul", "w")
        add("Add", "b")
        add("Relu")
        add("Reshape", "shape")
        add("Flatten", axis=1)
    weights = [onnx.numpy_helper.from_array(numpy.ones((8, 8), numpy.float32), "w"),
               onnx.numpy_helper.from_array(numpy.ones(8, numpy.float32), "b"),
               onnx.numpy_helper.from_array(numpy.array([0, 2, 4]), "shape")]
    onnx.save(model_of(nodes, inputs, outputs, weights), path)


MODELS = {
    "one_node": one_node,
    "weights_100mb": weights_100mb,
    "external_4gb": external_4gb,
    "single_file_3gb": single_file_3gb,
    "nodes_20k": lambda path: deep(path, 20_000),
    "nodes_200k": lambda path: deep(path, 200_000),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MODELS.items():
        path = folder / f"{name}.onnx"
        if not path.exists():
            print(f"bench: writing {path}", file=sys.stderr)
            make(path)


if __name__ == "__main__":
    main()
