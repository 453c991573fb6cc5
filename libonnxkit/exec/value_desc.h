#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// The inputs and outputs of a model as whoever runs it sees them.
namespace onnxkit::exec {

/// An input or output.
struct ValueDesc {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  ElementType type = ElementType::undefined;
  bool has_shape = false;
  std::vector<std::int64_t> dims = {};  ///< -1 where unknown or symbolic
  bool optional = false;                ///< an input that need not be given
};

/// A value inside a model.
struct InnerDesc {
  std::string name;
  std::string op;                 ///< that writes it, in its runtime's words
  std::vector<std::string> from;  ///< the inputs and inner values that this reads; weights and constants are none
};

/// The inputs of a graph in order; optional where an initializer gives a default.
std::vector<ValueDesc> describe_inputs(const ir::Graph& graph);
std::vector<ValueDesc> describe_outputs(const ir::Graph& graph);

/// Names of the graph's initializers, sparse ones too: an input of such a name has a default.
std::set<std::string_view> default_names(const ir::Graph& graph);

/// The kind of value that a declaration asks for: none where it has no type or an opaque one.
ValueKind kind_of(const ir::DeclaredType& type);
ValueKind kind_of(const ir::ValueInfo& declared);

/// As kind_of, but a tensor where that is none: what a file for such an input holds most likely.
ValueKind stored_kind_of(const ir::ValueInfo& declared);

/// At input `index` of the main graph.
Error input_error(ErrorCode code, const ir::Graph& graph, std::size_t index, std::string message);

}  // namespace onnxkit::exec
