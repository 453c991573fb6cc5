#pragma once

#include <span>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "reference/executor/kernel_traits.h"

namespace onnxkit::reference {

/// By node: whether it computes sizes from shapes and constants alone, as the floors of scaled sizes that exporters write. All runtimes round
/// there as the types say, and one step off would be another shape; so neither the unrounded mode nor noise applies. `roles`: of the nodes' operators.
std::vector<bool> shape_arithmetic(const ir::Graph& graph, std::span<const SizeRole> roles);

}  // namespace onnxkit::reference
