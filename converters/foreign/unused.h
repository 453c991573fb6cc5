#pragma once

#include "converters/foreign/graph.h"

namespace onnxkit::foreign {

/// Removes nodes and tensors that no output needs; nodes that `keeps` names stay. Values keep their ids.
void remove_unused(Graph& graph, bool (*keeps)(const Node& node) = nullptr);

}  // namespace onnxkit::foreign
