#pragma once

#include <optional>
#include <string>
#include <vector>

#include "converters/foreign/graph.h"
#include "onnxkit/result.h"

namespace onnxkit::pt2 {

/// Turns writes into values: a node that changes a tensor in place becomes one that gives a new tensor, and every later read of the
/// changed tensor, of what it is a view of, and of other views of that reads the new one. Graphs inside nodes are treated alike.
/// Error code: not-supported (a write that cannot be followed), with the node.
///
/// Gives the inputs of the graph, tensors among them, that it wrote to, and what each holds in the end.
struct Written {
  foreign::ValueId input, content;
};
Result<std::vector<Written>> functionalize(foreign::Graph& graph, StringPool& strings);

/// State that a model changes, as ONNX has it: stored tensors become inputs, whose defaults are their contents; what each of these or an input holds
/// afterwards is an output "X.next". The metadata source_changes names them.
void expose_changes(foreign::Model& model, const std::vector<Written>& changes);

}  // namespace onnxkit::pt2
