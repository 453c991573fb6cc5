#pragma once

#include <span>
#include <vector>

#include "converters/containers/stored_tensors.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/convert.h"

namespace onnxkit::weights {

/// Which tensor an initializer gets.
struct Match {
  std::size_t initializer = 0, tensor = 0;
  WeightMatch::How how = WeightMatch::How::name;
  bool is_transposed = false;
};

/// Pairs initializers of the graph with tensors whose type and shape fit: by name, then by name without the prefixes of wrapping modules, then by shape.
/// `misfits` gets pairs of one name whose type or shape differs.
std::vector<Match> match_weights(const ir::Graph& graph, std::span<const containers::StoredTensor> tensors,
                                 std::vector<Match>& misfits);

/// Whether an initializer is a weight, not a constant of the graph that the exporter made: real numbers, more than one.
bool is_weight(const ir::Tensor& initializer);

}  // namespace onnxkit::weights
