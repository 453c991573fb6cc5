"""Ports of an ONNX model, for adapters whose runtime does not tell them."""
from _values import Port


def port_of(value, optional=False):
    """From a ValueInfoProto."""
    proto, kind = value.type, (value.type.WhichOneof("value") or "tensor_type").removesuffix("_type")
    while proto.WhichOneof("value") in ("sequence_type", "optional_type"):
        proto = getattr(proto, proto.WhichOneof("value")).elem_type
    if proto.HasField("map_type"):
        return Port(value.name, None, None, kind, optional, map_type=proto.map_type.value_type.tensor_type.elem_type)
    tensor = proto.tensor_type
    shape = None
    if kind == "tensor" and tensor.HasField("shape"):
        shape = [size.dim_value if size.HasField("dim_value") else size.dim_param or None for size in tensor.shape.dim]
    return Port(value.name, tensor.elem_type or None, shape, kind, optional)


def ports_of(model):
    """The inputs that a caller may give, and the outputs. Before IR version 4 an initializer was always listed and never replaced."""
    graph = model.graph
    initial = {tensor.name for tensor in graph.initializer} | {tensor.values.name for tensor in graph.sparse_initializer}
    inputs = [port_of(value, value.name in initial) for value in graph.input if model.ir_version >= 4 or value.name not in initial]
    return inputs, [port_of(value) for value in graph.output]
