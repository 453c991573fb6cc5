#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libonnxkit/plan/steps.h"

// What passes over steps are made of.
namespace onnxkit::plan {

/// Who reads and writes the buffers of a plan.
struct BufferUses {
  explicit BufferUses(const Plan& plan);
  std::vector<std::vector<std::size_t>> readers,
      writers;  ///< steps by buffer, ascending; one that reads twice comes twice
};

/// A value between steps that one step writes and one reads.
bool is_private(const Plan& plan, const BufferUses& uses, std::uint32_t buffer);
/// Whether the step at `from` may run at `to` instead: nothing writes in between what it reads.
bool may_move(const Plan& plan, const BufferUses& uses, const Step& step, std::size_t from, std::size_t to);
/// Nodes of both, those of the first in front.
std::vector<std::string> joined_nodes(const Step& first, const Step& second);

void remove_steps(Plan& plan, const std::vector<bool>& is_gone);
/// Drops steps whose results nobody reads.
void drop_unused_steps(Plan& plan);

/// A new value without gaps, whose buffer has no place yet.
View new_value(Plan& plan, ElementType type, const Dims& dims);

}  // namespace onnxkit::plan
