#include <algorithm>
#include <iterator>
#include <optional>

#include "libonnxkit/plan/join_maps.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/step_pass.h"

namespace onnxkit::plan {
namespace {

struct Slice {
  std::size_t axis = 0;
  std::int64_t start = 0, count = 0;
};

/// Where `part` lies in `whole` when it is a slice of it along one axis.
std::optional<Slice> slice_of(const View& part, const View& whole) {
  if (part.rank() != whole.rank() || part.type != whole.type || part.strides != whole.strides) return std::nullopt;
  std::optional<std::size_t> axis;
  for (std::size_t i = 0; i < whole.rank(); ++i) {
    if (part.dims[i] == whole.dims[i]) continue;
    if (axis) return std::nullopt;
    axis = i;
  }
  if (!axis) return std::nullopt;
  const std::int64_t stride = whole.strides[*axis], shift = part.offset - whole.offset, count = part.dims[*axis];
  if (stride <= 0 || shift < 0 || shift % stride != 0 || shift / stride + count > whole.dims[*axis])
    return std::nullopt;
  return Slice{*axis, shift / stride, count};
}

/// Numbers that lie side by side at the end of the axes.
std::int64_t run_length(const View& view) {
  std::int64_t length = 1;
  for (std::size_t axis = view.rank(); axis-- > 0;) {
    if (view.dims[axis] == 1) continue;
    if (view.strides[axis] != length) break;
    length *= view.dims[axis];
  }
  return length;
}

/// A part of a map, which reads what `writer` reads in place of what it writes.
std::optional<Step> map_of_part(const Step& map, const Step& writer, std::size_t index, const Slice& slice) {
  Step part = map;
  const auto cut = [&](View& view) { view = sliced(view, slice.axis, slice.start, 1, slice.count); };
  for (View& input : part.inputs) cut(input);
  cut(part.outputs[0]);
  if (writer.kind == map_step) return joined_maps(part, writer, index);
  part.inputs[index] = writer.inputs[0];
  part.nodes = joined_nodes(writer, map);
  return part;
}

/// The parts of the map at `at` by what writes its operand `index`, and those steps; none where that is not a Concat along one axis.
struct SplitMap {
  std::vector<Step> parts;
  std::vector<std::size_t> writers;
};
std::optional<SplitMap> split_map(const Plan& plan, const BufferUses& uses, std::size_t at, std::size_t index,
                                  const Takes& takes) {
  constexpr std::size_t most_writers = 4;
  // For less, the start of each row costs more than the copy (measured on halves of heads).
  constexpr std::int64_t least_run = 256;
  const Step& map = plan.steps[at];
  const View& whole = map.inputs[index];
  const auto& writers = uses.writers[whole.buffer];
  if (plan.buffers[whole.buffer].home != Home::arena || uses.readers[whole.buffer].size() != 1 || writers.size() < 2 ||
      writers.size() > most_writers || !whole.is_dense())
    return std::nullopt;
  SplitMap split;
  std::optional<std::size_t> axis;
  std::vector<std::pair<std::int64_t, std::int64_t>> covered;
  for (const std::size_t writer : writers) {
    const Step& step = plan.steps[writer];
    if (writer >= at || (step.kind != map_step && step.kind != copy_step)) return std::nullopt;
    const auto slice = slice_of(step.outputs[0], whole);
    if (!slice || (axis && *axis != slice->axis) || !may_move(plan, uses, step, writer, at)) return std::nullopt;
    axis = slice->axis;
    covered.emplace_back(slice->start, slice->count);
    auto part = map_of_part(map, step, index, *slice);
    if (!part || run_length(part->outputs[0]) < least_run || (takes && takes(plan, *part))) return std::nullopt;
    split.parts.push_back(*std::move(part));
    split.writers.push_back(writer);
  }
  std::sort(covered.begin(), covered.end());
  std::int64_t end = 0;
  for (const auto& [start, count] : covered) {
    if (start != end) return std::nullopt;
    end += count;
  }
  return end == whole.dims[*axis] ? std::optional(std::move(split)) : std::nullopt;
}

/// Takes a map over what copies and maps wrote in parts, as of a Concat, apart into a map for each part: no step writes the whole then.
std::size_t split_maps(Plan& plan, const Takes& takes) {
  const BufferUses uses(plan);
  std::vector<bool> is_gone(plan.steps.size(), false);
  std::vector<std::vector<Step>> parts(plan.steps.size());
  std::size_t count = 0;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    if (plan.steps[at].kind != map_step) continue;
    for (std::size_t i = 0; i < plan.steps[at].inputs.size(); ++i) {
      auto split = split_map(plan, uses, at, i, takes);
      const bool is_free = split && std::none_of(split->writers.begin(), split->writers.end(), [&](std::size_t writer) {
                             return is_gone[writer] || !parts[writer].empty();
                           });
      if (!is_free) continue;
      for (const std::size_t writer : split->writers) is_gone[writer] = true;
      parts[at] = std::move(split->parts);
      ++count;
      break;
    }
  }
  if (count == 0) return 0;
  std::vector<Step> steps;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    if (is_gone[at]) continue;
    if (parts[at].empty())
      steps.push_back(std::move(plan.steps[at]));
    else
      std::move(parts[at].begin(), parts[at].end(), std::back_inserter(steps));
  }
  plan.steps = std::move(steps);
  return count;
}

}  // namespace

void register_split_maps(StepPassRegistry& registry);
void register_split_maps(StepPassRegistry& registry) {
  registry.add({.name = "split_maps", .stage = StepStage::divide, .run = split_maps});
}

}  // namespace onnxkit::plan
