#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "libonnxkit/plan/join_maps.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/step_pass.h"

namespace onnxkit::plan {
namespace {

/// Null where the kind has none.
const Expression* epilogue_of(const Step& step) {
  return step.kind == map_step || !step.parameters ? nullptr : step.parameters->elementwise();
}

/// A product or convolution with the map behind it.
std::optional<Step> joined_epilogue(const Step& map, const Step& producer, std::size_t index) {
  const Expression* epilogue = epilogue_of(producer);
  if (!epilogue || epilogue->code().size() >= most_joined_instructions || map.inputs.size() > most_joined_inputs)
    return std::nullopt;
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

/// Puts a map into the product or convolution whose result it reads.
std::size_t fuse_epilogues(Plan& plan, const Takes& takes) {
  return join_producers(plan, takes, joined_bounds) +
         join_producers(plan, takes, joined_epilogue,
                        JoinOrder::deepest);  // a convolution beside the blocks of a ResNet
}

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

/// Notes which maps stayed apart from the product or convolution whose result they read, and why.
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

}  // namespace

void register_fuse_epilogues(StepPassRegistry& registry);
void register_fuse_epilogues(StepPassRegistry& registry) {
  registry.add({.name = "fuse_epilogues",
                .stage = StepStage::attach,
                .run = fuse_epilogues,
                .note_misses = note_missed_epilogues});
}

}  // namespace onnxkit::plan
