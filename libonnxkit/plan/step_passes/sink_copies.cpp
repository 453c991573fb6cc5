#include <algorithm>
#include <optional>

#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/step_pass.h"

namespace onnxkit::plan {
namespace {

/// Where what is written as `written` goes when it is copied from `from`, the same elements in another order of axes or under other sizes, to `to`.
std::optional<View> target_of(const View& written, const View& from, const View& to) {
  if (written == from) return to;
  if (const auto source = try_reshaped(from, written.dims), target = try_reshaped(to, written.dims);
      source && target && *source == written)
    return target;
  if (written.rank() != from.rank() || written.offset != from.offset) return std::nullopt;
  View target = to;
  std::vector<bool> is_taken(from.rank(), false);
  for (std::size_t axis = 0; axis < written.rank(); ++axis) {
    std::size_t at = 0;
    while (at < from.rank() && (is_taken[at] || from.dims[at] != written.dims[axis] ||
                                (from.dims[at] != 1 && from.strides[at] != written.strides[axis])))
      ++at;
    if (at == from.rank()) return std::nullopt;
    is_taken[at] = true;
    target.dims[axis] = to.dims[at];
    target.strides[axis] = to.strides[at];
  }
  return target;
}

bool may_write(const StepKind& kind, const View& to) {
  if (kind.order != OutputOrder::rows) return kind.order == OutputOrder::any;
  return to.rank() == 0 || to.dims.back() == 1 || to.strides.back() == 1;
}

/// What is copied once as a whole is written where the copy would be.
std::size_t sink_copies(Plan& plan, const Takes& takes) {
  BufferUses uses(plan);
  std::vector<bool> is_gone(plan.steps.size(), false);
  std::size_t count = 0;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    const Step& copy = plan.steps[at];
    if (copy.kind != copy_step) continue;
    const View& from = copy.inputs[0];
    if (!is_private(plan, uses, from.buffer)) continue;
    const std::size_t writer = uses.writers[from.buffer][0];
    const Step& producer = plan.steps[writer];
    const View& written = producer.outputs[0];
    if (producer.outputs.size() != 1 || written.type != from.type || written.size() != from.size()) continue;
    const auto to = target_of(written, from, copy.outputs[0]);
    if (!to || !may_write(producer.kind, *to)) continue;
    const auto& readers = uses.readers[to->buffer];
    const auto reads_before = [&](std::size_t reader) { return reader > writer && reader < at; };
    if (std::any_of(readers.begin(), readers.end(), reads_before)) continue;
    Step sunk = producer;
    sunk.outputs[0] = *to;
    sunk.nodes = joined_nodes(producer, copy);
    if (takes && takes(plan, sunk)) continue;
    auto& writers = uses.writers[to->buffer];
    std::replace(writers.begin(), writers.end(), at, writer);  // for a copy of this copy
    plan.steps[writer] = std::move(sunk);
    is_gone[at] = true;
    ++count;
  }
  remove_steps(plan, is_gone);
  return count;
}

}  // namespace

void register_sink_copies(StepPassRegistry& registry);
void register_sink_copies(StepPassRegistry& registry) {
  registry.add({.name = "sink_copies", .stage = StepStage::move, .run = sink_copies});
}

}  // namespace onnxkit::plan
