#pragma once

#include "converters/foreign/graph.h"

// Groups of nodes that TensorFlow's own library writes for one operation.
namespace onnxkit::saved_model {

/// A convolution between SpaceToBatchND and BatchToSpaceND is one with dilations.
void join_dilations(foreign::Graph& graph);
/// Reshape, MatMul and Reshape around a tensor of more axes (tf.tensordot over the last axis) are one product, or a convolution of single
/// pixels.
void join_products(foreign::Graph& graph);

}  // namespace onnxkit::saved_model
