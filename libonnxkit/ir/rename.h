#pragma once

#include <string_view>
#include <unordered_map>

#include "libonnxkit/ir/model.h"

namespace onnxkit::ir {

/// A node, input or initializer of the graph itself writes the value.
bool defines(const Graph& graph, ValueId id);

/// New names by old ones.
using Renames = std::unordered_map<std::string_view, Text>;

/// Gives values of the graph other names wherever it and the graphs inside it mention them: initializers and quantization annotations too. A graph
/// inside that defines one of the old names anew keeps it. False, and nothing is changed, where a graph that is to be changed has a value of a new
/// name, or two new names are equal.
bool rename_values(Graph& graph, const Renames& names);
/// The same of one value.
bool rename_value(Graph& graph, ValueId id, Text name);

}  // namespace onnxkit::ir
