#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// Whether a model and its inputs can be run.
namespace onnxkit::exec {

/// Yes, or no because.
struct Support {
  bool supported = true;
  std::string reason = {};
};

/// Whether a version of an operator can be run. The node may tell more: attributes, overloads.
using SupportQuery = std::function<Support(const ir::Node& node, const spec::OpSchema& schema)>;

/// A node that a backend cannot run.
struct Unsupported {
  Location location;
  std::string reason;
};

/// Every node of the model, in subgraphs and functions too, that cannot be run. Operators without a schema are among them.
std::vector<Unsupported> unsupported_nodes(const SupportQuery& supports, const ir::Model& model,
                                           const spec::OpTable& table);
/// The error not-supported that lists them: the first as its location and message, the rest as notes.
Error not_supported(std::span<const Unsupported> nodes);

/// Whether these are values for the inputs of a graph: their number, kinds, element types and constant sizes, and that only inputs with an
/// initializer are left out. Errors: input-missing, input-type, input-shape.
/// With `wide` float64 does for float16, bfloat16 and float32: what an unrounded run gave.
Result<void> check_inputs(const ir::Graph& graph, std::span<const Value> inputs, bool wide = false);

}  // namespace onnxkit::exec
