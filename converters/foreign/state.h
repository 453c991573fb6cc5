#pragma once

#include <vector>

#include "converters/foreign/graph.h"

namespace onnxkit::foreign {

/// An input of the graph, or a tensor of it, that a model writes to, and what it holds in the end.
struct Written {
  ValueId input, content;
};

/// State that a model changes, as ONNX has it: stored tensors become inputs, whose defaults are their contents; what each of these or an input holds
/// afterwards is an output "X.next". The metadata source_changes names them.
void expose_changes(Model& model, const std::vector<Written>& changes);

}  // namespace onnxkit::foreign
