#pragma once

#include <vector>

#include "converters/foreign/graph.h"
#include "onnxkit/model.h"

namespace onnxkit::foreign {

/// What became of each node, in the order in which they were looked at; bodies behind the node that holds them.
using Trace = std::vector<NodeMapping>;

/// Adds the nodes of a written graph to what they were made of (Node::origin).
void add_results(const Graph& graph, Trace& trace);

}  // namespace onnxkit::foreign
