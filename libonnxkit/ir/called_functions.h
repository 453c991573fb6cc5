#pragma once

#include <vector>

#include "libonnxkit/ir/model.h"

namespace onnxkit::ir {

/// By function of the model: whether nodes of the graph call it, directly, in subgraphs or through other functions. Of equal names the first
/// is the one that is called.
std::vector<bool> called_functions(const Model& model, const Graph& graph);

}  // namespace onnxkit::ir
