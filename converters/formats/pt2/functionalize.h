#pragma once

#include <optional>
#include <string>
#include <vector>

#include "converters/foreign/graph.h"
#include "converters/foreign/state.h"
#include "onnxkit/result.h"

namespace onnxkit::pt2 {

/// Turns writes into values: a node that changes a tensor in place becomes one that gives a new tensor, and every later read of the
/// changed tensor, of what it is a view of, and of other views of that reads the new one. Graphs inside nodes are treated alike.
/// Error code: not-supported (a write that cannot be followed), with the node.
///
/// Gives the inputs of the graph, tensors among them, that it wrote to, and what each holds in the end.
using foreign::Written;
Result<std::vector<Written>> functionalize(foreign::Graph& graph, StringPool& strings);

}  // namespace onnxkit::pt2
