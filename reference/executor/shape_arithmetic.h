#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "reference/executor/kernel_traits.h"

namespace onnxkit::reference {

/// What a node's results come from.
enum class Origin : std::uint8_t {
  data,      ///< inputs, among others; also random numbers and what bodies and functions give
  constant,  ///< constants of the model alone
  shape,     ///< sizes, computed from shapes and constants
};

struct OriginRole {
  SizeRole sizes = SizeRole::none;
  bool repeats = false;  ///< equal inputs give equal results, in every run
};

/// By node: what its results come from. Floors of scaled sizes, as exporters write them, and of constants are the same in all runtimes, which round
/// there as the types say, and one step off would be another shape; so noise applies to neither, and the unrounded mode not to sizes. `roles`: of the
/// nodes' operators.
std::vector<Origin> origins(const ir::Graph& graph, std::span<const OriginRole> roles);

/// By node, of the main graph: whether its second input comes from constants, weights that a run may tell among them.
std::vector<bool> second_input_may_be_constant(const ir::Graph& graph, std::span<const OriginRole> roles);

}  // namespace onnxkit::reference
