#pragma once

#include "converters/foreign/graph.h"

// What makes a graph of TensorFlow simpler before its nodes are mapped.
namespace onnxkit::saved_model {

/// Computes small constants of real numbers: what a batch normalization does to its variables alone.
void fold_constants(foreign::Model& model, foreign::Graph& graph);
/// Gives convolutions and products the bias that is added to them.
void join_biases(foreign::Graph& graph);
/// Removes nodes and tensors that no output needs, in bodies, too; nodes that change variables stay.
void remove_unread(foreign::Graph& graph);

}  // namespace onnxkit::saved_model
