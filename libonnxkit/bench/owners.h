#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "libonnxkit/bench/graph_costs.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::benching {

/// A node that a step computes, and how much of its work.
struct NodeShare {
  std::size_t node = 0;
  double share = 1;
  bool is_whole = true;  ///< no other step computes a part of it
};

struct StepOwners {
  std::vector<std::vector<NodeShare>> nodes;  ///< of each step
  std::vector<bool> is_owned;                 ///< by node
};

/// Which steps compute each node. Steps that multiply for the same node divide its work as they divide its products.
StepOwners step_owners(GraphCosts& costs, const ir::Uses& uses, std::span<const exec::StepTime> steps);

}  // namespace onnxkit::benching
