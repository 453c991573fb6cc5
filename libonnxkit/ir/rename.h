#pragma once

#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"

namespace onnxkit::ir {

/// A node, input or initializer of the graph itself writes the value.
bool defines(const Graph& graph, ValueId id);

/// The graphs in which `name` means the value of `graph`: itself, and those inside it that do not define the name anew.
std::vector<Graph*> graphs_that_see(Graph& graph, std::string_view name);

/// Gives the value another name wherever the graph and those inside it mention it: initializers and quantization annotations too.
/// False, and nothing is changed, where one of them has a value of the new name.
bool rename_value(Graph& graph, ValueId id, Text name);

}  // namespace onnxkit::ir
