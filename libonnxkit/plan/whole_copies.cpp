#include "libonnxkit/plan/whole_copies.h"

#include <algorithm>

#include "libonnxkit/plan/lowerer.h"
#include "libonnxkit/plan/step_edit.h"

namespace onnxkit::plan {
namespace {

bool is_whole(const Plan& plan, const View& view) {
  const Buffer& buffer = plan.buffers[view.buffer];
  return view.offset == 0 && view.is_contiguous() && view.type == buffer.type &&
         static_cast<std::uint64_t>(view.size()) * bytes_of(view.type) == buffer.bytes;
}

Step with_buffer(const Step& step, std::uint32_t from, std::uint32_t to) {
  Step changed = step;
  for (auto* views : {&changed.inputs, &changed.outputs}) {
    for (View& view : *views) {
      if (view.buffer == from) view.buffer = to;
    }
  }
  return changed;
}

}  // namespace

std::size_t write_outputs_in_place(Plan& plan, const Takes& takes) {
  const BufferUses uses(plan);
  std::vector<bool> is_gone(plan.steps.size(), false), is_placed(plan.buffers.size(), false);
  std::size_t count = 0;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    if (plan.steps[at].kind != copy_step) continue;
    const View from = plan.steps[at].inputs[0], to = plan.steps[at].outputs[0];
    if (plan.buffers[from.buffer].home != Home::arena || plan.buffers[to.buffer].home != Home::output) continue;
    if (is_placed[from.buffer] || !is_whole(plan, from) || !is_whole(plan, to) || uses.writers[to.buffer].size() != 1)
      continue;
    std::vector<std::size_t> users = uses.writers[from.buffer];
    users.insert(users.end(), uses.readers[from.buffer].begin(), uses.readers[from.buffer].end());
    const bool is_free = std::all_of(users.begin(), users.end(), [&](std::size_t user) {
      const Step& step = plan.steps[user];  // a step on the host has its operands where it wants them
      return user == at ||
             (step.kind != host_step && !(takes && takes(plan, with_buffer(step, from.buffer, to.buffer))));
    });
    if (!is_free) continue;
    for (const std::size_t user : users) plan.steps[user] = with_buffer(plan.steps[user], from.buffer, to.buffer);
    is_placed[from.buffer] = is_gone[at] = true;
    ++count;
  }
  remove_steps(plan, is_gone);
  return count;
}

std::size_t read_inputs_in_place(Plan& plan) {
  const BufferUses uses(plan);
  std::vector<bool> is_gone(plan.steps.size(), false);
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    if (plan.steps[at].kind != copy_step) continue;
    const View from = plan.steps[at].inputs[0], to = plan.steps[at].outputs[0];
    if (plan.buffers[from.buffer].home != Home::input || plan.buffers[to.buffer].home != Home::arena) continue;
    if (!is_whole(plan, from) || !is_whole(plan, to) || uses.writers[to.buffer].size() != 1) continue;
    const std::vector<std::size_t>& readers = uses.readers[to.buffer];
    const bool is_free = std::none_of(readers.begin(), readers.end(), [&](std::size_t reader) {
      return plan.steps[reader].kind == host_step;  // which has its operands where it wants them
    });
    if (!is_free) continue;
    for (const std::size_t reader : readers)
      plan.steps[reader] = with_buffer(plan.steps[reader], to.buffer, from.buffer);
    is_gone[at] = true;
  }
  remove_steps(plan, is_gone);
  return static_cast<std::size_t>(std::count(is_gone.begin(), is_gone.end(), true));
}

}  // namespace onnxkit::plan
