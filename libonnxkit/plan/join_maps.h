#pragma once

#include <cstddef>
#include <optional>

#include "libonnxkit/plan/steps.h"

// Maps and the steps that write their operands.
namespace onnxkit::plan {

/// Of an expression, and of the operands of a step behind a join.
inline constexpr std::size_t most_joined_instructions = 64, most_joined_inputs = 12;

/// A step out of a map and the step that writes its operand `index`; nothing where the two do not fit.
using JoinSteps = std::optional<Step> (*)(const Step& map, const Step& producer, std::size_t index);

/// A map that takes in the map that writes its operand. As JoinSteps.
std::optional<Step> joined_maps(const Step& map, const Step& producer, std::size_t index);

/// Which operand of a map is looked at first.
enum class JoinOrder : std::uint8_t {
  last,     ///< the last one
  deepest,  ///< that behind the most steps: what is short may run beside what is long then
};

/// Joins maps with what writes their operands, which nobody else reads, until nothing fits; gives the number of joins.
std::size_t join_producers(Plan& plan, const Takes& takes, JoinSteps join, JoinOrder order = JoinOrder::last);

}  // namespace onnxkit::plan
