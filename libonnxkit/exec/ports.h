#pragma once

#include <set>
#include <string>
#include <string_view>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// The inputs and outputs of a graph as whoever runs it sees them.
namespace onnxkit::exec {

/// Names of the graph's initializers, sparse ones too: an input of such a name has a default.
std::set<std::string_view> default_names(const ir::Graph& graph);

/// The kind of value that a declaration asks for: none where it has no type or an opaque one.
ValueKind kind_of(const ir::ValueInfo& declared);

/// As kind_of, but a tensor where that is none: what a file for such an input holds most likely.
ValueKind stored_kind_of(const ir::ValueInfo& declared);

/// At input `index` of the main graph.
Error input_error(std::string code, const ir::Graph& graph, std::size_t index, std::string message);

}  // namespace onnxkit::exec
