#pragma once

#include <cstddef>
#include <vector>

#include "converters/foreign/graph.h"

namespace onnxkit::to_tflite {

/// By value, how many arguments and outputs of the graph are it.
std::vector<std::size_t> count_reads(const foreign::Graph& graph);
/// A TRANSPOSE of images that are flattened for a FULLY_CONNECTED goes: its stored weights take the order of the images.
void flatten_as_they_lie(foreign::Graph& graph);
/// FULLY_CONNECTED adds the stored vector that is added to its result, and to nothing else.
void fuse_biases(foreign::Graph& graph);
/// Operators compute the activation that is all that reads their result.
void fuse_activations(foreign::Graph& graph);

}  // namespace onnxkit::to_tflite
