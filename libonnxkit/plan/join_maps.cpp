#include "libonnxkit/plan/join_maps.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "libonnxkit/plan/step_edit.h"

namespace onnxkit::plan {
namespace {

/// The map under the sizes of what is written, when its operand `index` holds the same elements and all its views can be looked at in that way.
std::optional<Step> with_sizes_of(const View& written, const Step& map, std::size_t index) {
  const View& read = map.inputs[index];
  if (written == read) return map;
  if (map.kind != map_step || written.buffer != read.buffer || written.type != read.type ||
      written.size() != read.size())
    return std::nullopt;
  Step changed = map;
  for (auto* views : {&changed.inputs, &changed.outputs}) {
    for (View& view : *views) {
      auto other = try_reshaped(view, written.dims);
      if (!other) return std::nullopt;
      view = *std::move(other);
    }
  }
  return changed.inputs[index] == written ? std::optional(std::move(changed)) : std::nullopt;
}

/// By step: the most steps one behind the other that end with it.
std::vector<std::size_t> depths_of(const Plan& plan, const BufferUses& uses) {
  std::vector<std::size_t> depths(plan.steps.size(), 1);
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    for (const View& view : plan.steps[at].inputs) {
      for (const std::size_t writer : uses.writers[view.buffer])
        if (writer < at) depths[at] = std::max(depths[at], depths[writer] + 1);
    }
  }
  return depths;
}

/// A step that does what two did, in the place of the later one.
struct Joined {
  std::size_t producer = 0;
  Step step;
};

/// The step at `at` joined with one that writes an operand of it, which nobody else reads. `join` makes the step out of it, the producer and the number
/// of the operand, or nothing where the two do not fit.
std::optional<Joined> joined_with_producer(const Plan& plan, const BufferUses& uses,
                                           const std::vector<std::size_t>& depths, const std::vector<bool>& is_gone,
                                           std::size_t at, const Takes& takes, JoinSteps join) {
  const Step& step = plan.steps[at];
  const auto depth_of = [&](std::size_t input) {
    const auto& writers = uses.writers[step.inputs[input].buffer];
    return writers.empty() || writers[0] >= at ? 0 : depths[writers[0]];
  };
  std::vector<std::size_t> inputs(step.inputs.size());
  std::iota(inputs.rbegin(), inputs.rend(), std::size_t{0});
  std::stable_sort(inputs.begin(), inputs.end(),
                   [&](std::size_t a, std::size_t b) { return depth_of(a) > depth_of(b); });
  for (const std::size_t i : inputs) {
    const std::uint32_t buffer = step.inputs[i].buffer;
    if (!is_private(plan, uses, buffer)) continue;
    const std::size_t producer = uses.writers[buffer][0];
    if (producer >= at || is_gone[producer] || plan.steps[producer].outputs.size() != 1) continue;
    const auto reader = with_sizes_of(plan.steps[producer].outputs[0], step, i);
    if (!reader) continue;
    if (!may_move(plan, uses, plan.steps[producer], producer, at)) continue;
    std::optional<Step> joined = join(*reader, plan.steps[producer], i);
    if (joined && !(takes && takes(plan, *joined))) return Joined{producer, *std::move(joined)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Step> joined_maps(const Step& map, const Step& producer, std::size_t index) {
  if (producer.kind != map_step || map.inputs.size() + producer.inputs.size() > most_joined_inputs) return std::nullopt;
  const auto& outer = static_cast<const MapParameters&>(*map.parameters).expression;
  const auto& inner = static_cast<const MapParameters&>(*producer.parameters).expression;
  if (outer.code().size() + inner.code().size() > most_joined_instructions) return std::nullopt;
  Step joined = map;
  auto parameters = std::make_shared<MapParameters>();
  parameters->expression = outer.with_input(index, inner);
  joined.inputs.erase(joined.inputs.begin() + static_cast<std::ptrdiff_t>(index));
  joined.inputs.insert(joined.inputs.end(), producer.inputs.begin(), producer.inputs.end());
  joined.nodes = joined_nodes(producer, map);
  joined.parameters = std::move(parameters);
  merge_operands(joined);
  return joined;
}

std::size_t join_producers(Plan& plan, const Takes& takes, JoinSteps join, JoinOrder order) {
  const BufferUses uses(plan);
  const auto depths = order == JoinOrder::deepest ? depths_of(plan, uses) : std::vector<std::size_t>(plan.steps.size());
  std::vector<bool> is_gone(plan.steps.size(), false);
  std::size_t count = 0;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    while (plan.steps[at].kind == map_step) {
      auto joined = joined_with_producer(plan, uses, depths, is_gone, at, takes, join);
      if (!joined) break;
      plan.steps[at] = std::move(joined->step);
      is_gone[joined->producer] = true;
      ++count;
    }
  }
  remove_steps(plan, is_gone);
  return count;
}

}  // namespace onnxkit::plan
