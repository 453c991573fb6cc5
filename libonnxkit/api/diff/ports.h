#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/workers/worker.h"
#include "onnxkit/diff.h"

// Inputs and outputs of two sides brought together: by the names that the user gave, by equal names, else by type, shape and layout where that leaves
// one choice.
namespace onnxkit::api {

using NameMap = std::map<std::string, std::string>;  ///< name on the first side to name on the other

/// A tensor with its axes in another order: result axis i is axis order[i]. nullopt for types of less than a byte.
std::optional<Tensor> permuted(const Tensor& tensor, std::span<const std::size_t> order);

/// The value as a port declares it: as it is, or with channels moved (NCHW to NHWC or back) when only that fits the port's shape.
Value fitted(const Value& value, const workers::Port& port);

/// Values for all inputs of a graph, kind none for those with a default that the set does not have. Error input-missing.
Result<std::vector<Value>> inputs_for(const ir::Graph& graph, const InputSet& set, const NameMap& names);

/// Values for the ports of a worker's model, by the port's names. Error input-missing names all inputs of both sides.
Result<std::vector<NamedValue>> inputs_for(std::span<const workers::Port> ports, const InputSet& set,
                                           const NameMap& names);

/// The outputs under the names and in the layout of `wanted`, in its order; those that `wanted` lacks follow. Nothing changes when `wanted` is
/// empty. Error output-missing.
Result<std::vector<NamedValue>> matched_outputs(std::vector<NamedValue> outputs, const std::vector<NamedValue>& wanted,
                                                const NameMap& names);

}  // namespace onnxkit::api
