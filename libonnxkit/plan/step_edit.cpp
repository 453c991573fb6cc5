#include "libonnxkit/plan/step_edit.h"

#include <algorithm>

namespace onnxkit::plan {

BufferUses::BufferUses(const Plan& plan) : readers(plan.buffers.size()), writers(plan.buffers.size()) {
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    for (const View& view : plan.steps[at].inputs) readers[view.buffer].push_back(at);
    for (const View& view : plan.steps[at].outputs) writers[view.buffer].push_back(at);
  }
}

void remove_steps(Plan& plan, const std::vector<bool>& is_gone) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    if (is_gone[at]) continue;
    if (kept != at) plan.steps[kept] = std::move(plan.steps[at]);
    ++kept;
  }
  plan.steps.resize(kept);
}

bool is_private(const Plan& plan, const BufferUses& uses, std::uint32_t buffer) {
  return plan.buffers[buffer].home == Home::arena && uses.writers[buffer].size() == 1 &&
         uses.readers[buffer].size() == 1;
}

bool may_move(const Plan& plan, const BufferUses& uses, const Step& step, std::size_t from, std::size_t to) {
  return std::all_of(step.inputs.begin(), step.inputs.end(), [&](const View& input) {
    if (plan.buffers[input.buffer].home != Home::arena) return true;
    return std::all_of(uses.writers[input.buffer].begin(), uses.writers[input.buffer].end(),
                       [&](std::size_t writer) { return writer < from || writer > to; });
  });
}

std::vector<std::string> joined_nodes(const Step& first, const Step& second) {
  std::vector<std::string> nodes = first.nodes;
  nodes.insert(nodes.end(), second.nodes.begin(), second.nodes.end());
  return nodes;
}

void drop_unused_steps(Plan& plan) {
  std::vector<bool> is_read(plan.buffers.size(), false), is_gone(plan.steps.size(), false);
  for (const Port& port : plan.outputs) is_read[port.buffer] = true;
  for (std::size_t at = plan.steps.size(); at-- > 0;) {
    const Step& step = plan.steps[at];
    is_gone[at] =
        std::none_of(step.outputs.begin(), step.outputs.end(), [&](const View& view) { return is_read[view.buffer]; });
    if (is_gone[at]) continue;
    for (const View& view : step.inputs) is_read[view.buffer] = true;
  }
  remove_steps(plan, is_gone);
}

View new_value(Plan& plan, ElementType type, const Dims& dims) {
  View view{.buffer = static_cast<std::uint32_t>(plan.buffers.size()),
            .type = type,
            .offset = 0,
            .dims = dims,
            .strides = row_major_strides(dims)};
  const auto bytes = static_cast<std::uint64_t>(view.size()) * static_cast<std::uint64_t>(storage_bits(type)) / 8;
  plan.buffers.push_back({.home = Home::arena, .type = type, .bytes = bytes, .offset = 0, .index = 0});
  return view;
}

}  // namespace onnxkit::plan
