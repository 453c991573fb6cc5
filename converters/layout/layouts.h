#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converters/layout/rules.h"

// Which order of axes each node of a graph computes on, so that few Transposes remain.
namespace onnxkit::layout {

/// A use of a value by a node that may be in any order: the value's layout follows from the order of the node's frame.
struct FlexibleUse {
  std::size_t frame = 0;  ///< index of the node's frame
  std::size_t port = 0;
  Permutation offset;  ///< what Transposes of the graph do between the value and the node
  Axes removed;

  Permutation layout(const Permutation& order) const { return composed(offset, without_axes(order, removed)); }
  Permutation order(const Permutation& layout, std::size_t rank) const {
    return with_axes(composed(inverse_of(offset), layout), removed, rank);
  }
};

/// A value with what writes and reads it. Values that are stored have every layout at no cost.
struct LayoutValue {
  bool is_stored = false;
  std::optional<FlexibleUse> producer;  ///< none: written as it is
  std::vector<FlexibleUse> readers;
  std::vector<Permutation> fixed_readers;  ///< layouts that others want
  std::int64_t weight = 1;                 ///< of a Transpose
};

struct LayoutProblem {
  std::vector<std::size_t> ranks;  ///< of the frames
  std::vector<LayoutValue> values;
};

/// The orders of the frames. No choice costs more than all frames as they are.
std::vector<Permutation> choose_orders(const LayoutProblem& problem);

}  // namespace onnxkit::layout
