#pragma once

#include <vector>

#include "converters/foreign/graph.h"

namespace onnxkit::aten {

/// By tensor of the graph: whether it is a parameter of a module, which is trained. Others are buffers: integers, constants of operators, running statistics.
std::vector<bool> are_parameters(const foreign::Graph& graph);

}  // namespace onnxkit::aten
