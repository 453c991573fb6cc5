"""Recorded inputs and outputs of models (test_data_set_*/*.pb)."""
import contextlib

import onnx
from onnx import numpy_helper


def read_value(path, type_proto):
    data = path.read_bytes()
    kind = type_proto.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        with contextlib.suppress(Exception):
            return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))
