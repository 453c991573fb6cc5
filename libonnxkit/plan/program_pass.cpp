#include "libonnxkit/plan/program_pass.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_map>

#include <fmt/core.h>

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

namespace {

bool is_private(const Plan& plan, const BufferUses& uses, std::uint32_t buffer) {
  return plan.buffers[buffer].home == Home::arena && uses.writers[buffer].size() == 1 &&
         uses.readers[buffer].size() == 1;
}

/// Null where the kind has none.
const Expression* epilogue_of(const Step& step) {
  return step.kind == map_step || !step.parameters ? nullptr : step.parameters->elementwise();
}

constexpr std::size_t most_instructions = 64, most_inputs = 12;

/// Nodes of both, those of the first in front.
std::vector<std::string> joined_nodes(const Step& first, const Step& second) {
  std::vector<std::string> nodes = first.nodes;
  nodes.insert(nodes.end(), second.nodes.begin(), second.nodes.end());
  return nodes;
}

/// Writes of what a step reads must not come between its old place and its new one.
bool may_move(const Plan& plan, const BufferUses& uses, const Step& step, std::size_t from, std::size_t to) {
  return std::all_of(step.inputs.begin(), step.inputs.end(), [&](const View& input) {
    if (plan.buffers[input.buffer].home != Home::arena) return true;
    return std::all_of(uses.writers[input.buffer].begin(), uses.writers[input.buffer].end(),
                       [&](std::size_t writer) { return writer < from || writer > to; });
  });
}

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
template <class Join>
std::optional<Joined> joined_with_producer(const Plan& plan, const BufferUses& uses,
                                           const std::vector<std::size_t>& depths, const std::vector<bool>& is_gone,
                                           std::size_t at, const Takes& takes, Join join) {
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

/// A map that takes in the map that writes its operand `index`.
std::optional<Step> joined_maps(const Step& map, const Step& producer, std::size_t index) {
  if (producer.kind != map_step || map.inputs.size() + producer.inputs.size() > most_inputs) return std::nullopt;
  const auto& outer = static_cast<const MapParameters&>(*map.parameters).expression;
  const auto& inner = static_cast<const MapParameters&>(*producer.parameters).expression;
  if (outer.code().size() + inner.code().size() > most_instructions) return std::nullopt;
  Step joined = map;
  auto parameters = std::make_shared<MapParameters>();
  parameters->expression = outer.with_input(index, inner);
  joined.inputs.erase(joined.inputs.begin() + static_cast<std::ptrdiff_t>(index));
  joined.inputs.insert(joined.inputs.end(), producer.inputs.begin(), producer.inputs.end());
  joined.nodes = joined_nodes(producer, map);
  joined.parameters = std::move(parameters);
  return joined;
}

/// A product or convolution with the map behind it.
std::optional<Step> joined_epilogue(const Step& map, const Step& producer, std::size_t index) {
  const Expression* epilogue = epilogue_of(producer);
  if (!epilogue || epilogue->code().size() >= most_instructions || map.inputs.size() > most_inputs) return std::nullopt;
  if (lane_of(producer.outputs[0].type) != Lane::f32) return std::nullopt;  // sums of float64 and int64 have none
  Step joined = producer;
  const Expression& outer = static_cast<const MapParameters&>(*map.parameters).expression;
  Expression inner = *epilogue;
  if (inner.empty()) inner.input(0, Lane::f32);
  const Expression all = outer.with_input(index, inner);
  // Inputs are now those of the map but the sum, then those of the epilogue, the sum first.
  const std::size_t others = map.inputs.size() - 1;
  std::vector<std::size_t> numbers(others + inner.input_count());
  for (std::size_t i = 0; i < others; ++i) numbers[i] = inner.input_count() + i;
  for (std::size_t i = 0; i < inner.input_count(); ++i) numbers[others + i] = i;
  for (std::size_t i = 0; i < map.inputs.size(); ++i) {
    if (i != index) joined.inputs.push_back(map.inputs[i]);
  }
  joined.parameters = producer.parameters->with_elementwise(all.renumbered(numbers));
  joined.nodes = joined_nodes(producer, map);
  joined.outputs = map.outputs;
  return joined;
}

/// What an expression of one integer makes of it; nothing where it does more than compare and convert.
std::optional<std::int64_t> bounded(const Expression& expression, std::int64_t x) {
  std::vector<std::int64_t> numbers;
  for (const Instruction& of : expression.code()) {
    const auto operand = [&](std::size_t i) { return numbers[of.operands[i]]; };
    if (of.lane != Lane::i64) return std::nullopt;
    if (of.operation == Operation::input && of.index == 0)
      numbers.push_back(x);
    else if (of.operation == Operation::constant)
      numbers.push_back(of.integer);
    else if (of.operation == Operation::minimum)
      numbers.push_back(std::min(operand(0), operand(1)));
    else if (of.operation == Operation::maximum)
      numbers.push_back(std::max(operand(0), operand(1)));
    else if (of.operation == Operation::convert || of.operation == Operation::round_to)
      numbers.push_back(operand(0));  // a number of the type that is stored stays as it is
    else
      return std::nullopt;
  }
  return numbers.empty() ? std::nullopt : std::optional(numbers.back());
}

/// An integer convolution with the bounds that a map keeps its bytes in.
std::optional<Step> joined_bounds(const Step& map, const Step& producer, std::size_t) {
  if (producer.kind != integer_convolution_step || map.inputs.size() != 1 ||
      map.outputs[0].type != producer.outputs[0].type)
    return std::nullopt;
  const auto& parameters = static_cast<const IntegerConvolutionParameters&>(*producer.parameters);
  const Expression& expression = static_cast<const MapParameters&>(*map.parameters).expression;
  if (!parameters.requantization) return std::nullopt;
  auto changed = std::make_shared<IntegerConvolutionParameters>(parameters);
  auto& bounds = *changed->requantization;
  const auto lower = bounded(expression, bounds.lower), upper = bounded(expression, bounds.upper);
  if (!lower || !upper || *lower < bounds.lower || *upper > bounds.upper) return std::nullopt;
  for (std::int64_t x = bounds.lower; x <= bounds.upper; ++x) {
    if (bounded(expression, x) != std::clamp(x, *lower, *upper)) return std::nullopt;
  }
  bounds.lower = *lower, bounds.upper = *upper;
  Step joined = producer;
  joined.parameters = std::move(changed);
  joined.nodes = joined_nodes(producer, map);
  joined.outputs = map.outputs;
  return joined;
}

/// Joins maps with what writes their operands, until nothing fits. Of several, the last one; or that with the most steps before it.
template <class Join>
std::size_t join_producers(Plan& plan, const Takes& takes, Join join, bool deepest_first = false) {
  const BufferUses uses(plan);
  const auto depths = deepest_first ? depths_of(plan, uses) : std::vector<std::size_t>(plan.steps.size());
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

}  // namespace

std::size_t fuse_maps(Plan& plan, const Takes& takes) { return join_producers(plan, takes, joined_maps); }
std::size_t fuse_epilogues(Plan& plan, const Takes& takes) {
  // What is short may run beside what is long then, as the convolution beside the blocks of a ResNet does.
  return join_producers(plan, takes, joined_bounds) + join_producers(plan, takes, joined_epilogue, true);
}

namespace {

/// Why a map is not the epilogue of the step that writes its operand `index`.
std::string reason_apart(const Plan& plan, const BufferUses& uses, const Step& map, const Step& producer,
                         std::size_t at, std::size_t index, const Takes& takes) {
  const View& read = map.inputs[index];
  if (plan.buffers[read.buffer].home != Home::arena) return "the result is an output as well";
  if (uses.readers[read.buffer].size() != 1) return "the result is read elsewhere, too";
  if (uses.writers[read.buffer].size() != 1) return "the result is written in parts";
  if (!(producer.outputs[0] == read)) return "the result is read under other sizes or in another order of axes";
  if (!may_move(plan, uses, producer, uses.writers[read.buffer][0], at)) return "an operand is overwritten in between";
  const auto joined = joined_epilogue(map, producer, index);
  if (!joined) return "the expression would be too long";
  const auto refusal = takes ? takes(plan, *joined) : std::nullopt;
  return refusal.value_or("another step stands between");
}

}  // namespace

void note_missed_epilogues(Plan& plan, const Takes& takes) {
  const BufferUses uses(plan);
  const std::unordered_map<std::string, std::string> ops(plan.lowered.begin(), plan.lowered.end());
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    const Step& map = plan.steps[at];
    if (map.kind != map_step || map.nodes.empty()) continue;
    for (std::size_t i = 0; i < map.inputs.size(); ++i) {
      const auto& writers = uses.writers[map.inputs[i].buffer];
      if (writers.empty() || writers[0] >= at || !epilogue_of(plan.steps[writers[0]])) continue;
      const Step& producer = plan.steps[writers[0]];
      const auto known = ops.find(map.nodes.front());
      if (known == ops.end()) continue;
      plan.misses.push_back({.node = known->first,
                             .op = known->second,
                             .pass = "fuse_epilogues",
                             .reason = fmt::format("it stays apart from the {} that it reads: {}", producer.kind.name,
                                                   reason_apart(plan, uses, map, producer, at, i, takes))});
      break;
    }
  }
}

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

}  // namespace

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

}  // namespace

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
