"""Reads ONNX; open sizes are left as they are where the shapes are not given."""


class OpNotImplemented(Exception):
    pass


def from_onnx(model, shape_dict, keep_params_in_input, sanitize_input_names):
    assert not keep_params_in_input and not sanitize_input_names
    if any("TreeEnsemble" in node.op_type for node in model.graph.node):
        raise OpNotImplemented("The following operators are not supported for frontend ONNX: TreeEnsembleClassifier")
    if not shape_dict and any(size.dim_param for value in model.graph.input for size in value.type.tensor_type.shape.dim):
        raise ValueError("open sizes")
    return model
