#include "libonnxkit/plan/arena.h"

#include <algorithm>
#include <numeric>

#include "libonnxkit/plan/step_edit.h"

namespace onnxkit::plan {
namespace {

constexpr std::uint64_t alignment = 64;

struct Life {
  std::uint32_t buffer = 0;
  std::size_t first = 0;  ///< step
  std::vector<std::size_t> begins,
      ends;  ///< by stream: its steps before `begins` have ended, and those from `ends` on use it no more
  std::uint64_t bytes = 0;

  bool is_before(const Life& other) const {
    for (std::size_t stream = 0; stream < ends.size(); ++stream)
      if (ends[stream] > other.begins[stream]) return false;
    return true;
  }
};

/// The steps one after the other.
StepOrder order_of_steps(const Plan& plan) {
  StepOrder order;
  order.streams.resize(plan.steps.size());
  for (std::size_t at = 0; at < plan.steps.size(); ++at) order.ended.push_back({at});
  return order;
}

/// A map may write over an operand of the same layout that nobody reads later, or meanwhile.
std::vector<std::uint32_t> shared_places(const Plan& plan, const BufferUses& uses, const StepOrder& order) {
  std::vector<std::uint32_t> root(plan.buffers.size());
  std::iota(root.begin(), root.end(), 0U);
  std::vector<std::uint32_t> sharing(plan.buffers.size(), 1);  // buffers by their root
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    const Step& step = plan.steps[at];
    if (step.kind != map_step) continue;
    const View& to = step.outputs[0];
    if (plan.buffers[to.buffer].home != Home::arena || uses.writers[to.buffer].size() != 1) continue;
    for (const View& from : step.inputs) {
      if (plan.buffers[from.buffer].home != Home::arena ||
          plan.buffers[from.buffer].bytes != plan.buffers[to.buffer].bytes)
        continue;
      const bool is_same =
          from.type == to.type && from.offset == to.offset && from.dims == to.dims && from.strides == to.strides;
      const auto& readers = uses.readers[from.buffer];
      const bool is_last = std::count(readers.begin(), readers.end(), at) == 1 && readers.back() == at &&
                           std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
                             return reader == at || reader < order.ended[at][order.streams[reader]];
                           });
      // What was placed into another's room already may be read behind this step through the other.
      const bool is_alone = sharing[root[from.buffer]] == 1 || root[from.buffer] != from.buffer;
      if (!is_same || !is_last || !is_alone) continue;
      --sharing[root[to.buffer]];
      root[to.buffer] = root[from.buffer];
      ++sharing[root[to.buffer]];
      break;
    }
  }
  return root;
}

}  // namespace

void place_buffers(Plan& plan) { place_buffers(plan, order_of_steps(plan)); }

void place_buffers(Plan& plan, const StepOrder& order) {
  plan.arena_bytes = 0;
  const BufferUses uses(plan);
  const std::vector<std::uint32_t> root = shared_places(plan, uses, order);
  const std::size_t streams = order.ended.empty() ? 0 : order.ended.front().size();
  std::vector<Life> lives(plan.buffers.size());
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].home != Home::arena || uses.writers[b].empty()) continue;
    Life& life = lives[root[b]];
    const std::size_t first = uses.writers[b].front();
    const bool is_new = life.bytes == 0;
    life.buffer = root[b];
    life.first = is_new ? first : std::min(life.first, first);
    if (is_new) {
      life.begins.assign(streams, plan.steps.size());
      life.ends.assign(streams, 0);
    }
    for (const auto* users : {&uses.writers[b], &uses.readers[b]}) {
      for (const std::size_t user : *users) {
        for (std::size_t stream = 0; stream < streams; ++stream)
          life.begins[stream] = std::min(life.begins[stream], order.ended[user][stream]);
        std::size_t& end = life.ends[order.streams[user]];
        end = std::max(end, user + 1);
      }
    }
    life.bytes = std::max<std::uint64_t>(life.bytes, std::max<std::uint64_t>(plan.buffers[b].bytes, 1));
  }
  std::erase_if(lives, [](const Life& life) { return life.bytes == 0; });
  std::sort(lives.begin(), lives.end(),
            [](const Life& a, const Life& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first; });
  std::vector<const Life*> placed;  // by offset
  for (const Life& life : lives) {
    std::uint64_t offset = 0;
    for (const Life* other : placed) {
      if (other->is_before(life) || life.is_before(*other)) continue;
      const std::uint64_t begin = plan.buffers[other->buffer].offset;
      if (offset + life.bytes <= begin) break;
      offset = std::max(offset, (begin + other->bytes + alignment - 1) / alignment * alignment);
    }
    plan.buffers[life.buffer].offset = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + life.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &life,
                                   [&](const Life* a, const Life* b) {
                                     return plan.buffers[a->buffer].offset < plan.buffers[b->buffer].offset;
                                   }),
                  &life);
  }
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) plan.buffers[b].offset = plan.buffers[root[b]].offset;
}

}  // namespace onnxkit::plan
