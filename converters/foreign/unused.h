#pragma once

#include <vector>

#include "converters/foreign/graph.h"

namespace onnxkit::foreign {

/// Which values outputs need, by index; nodes that `keeps` names are needed.
std::vector<bool> needed_values(const Graph& graph, bool (*keeps)(const Node& node) = nullptr);

/// Removes nodes and tensors that no output needs; nodes that `keeps` names stay. Values keep their ids.
void remove_unused(Graph& graph, bool (*keeps)(const Node& node) = nullptr);

}  // namespace onnxkit::foreign
