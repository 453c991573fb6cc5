#include "libonnxkit/plan/sequence_node.h"

#include <algorithm>
#include <utility>

#include "libonnxkit/ir/uses.h"
#include "libonnxkit/plan/integer_in.h"
#include "libonnxkit/plan/subject.h"
#include "libonnxkit/wire/values/tensor_proto.h"

namespace onnxkit::plan {
namespace {

/// Negative ones count from the end. Nothing outside of [0, end).
std::optional<std::ptrdiff_t> counted_position(const Value& value, std::size_t length, std::size_t end) {
  const auto given = integer_in(value);
  if (!given || *given < -static_cast<std::int64_t>(length)) return std::nullopt;
  const std::int64_t counted = *given < 0 ? *given + static_cast<std::int64_t>(length) : *given;
  return counted < static_cast<std::int64_t>(end) ? std::optional(static_cast<std::ptrdiff_t>(counted)) : std::nullopt;
}

/// Whether the sequence may hold it beside its elements.
bool takes(const Value& sequence, const Value& element) {
  if (!element.is_tensor()) return false;
  const bool is_empty = sequence.items.empty();
  if (!is_empty && !sequence.items.front().is_tensor()) return false;
  const ElementType type = is_empty ? sequence.declared : sequence.items.front().tensor.type();
  return type == ElementType::undefined || type == element.tensor.type();
}

std::optional<Value> inserted(std::span<Value* const> inputs) {
  Value& sequence = *inputs[0];
  const std::size_t length = sequence.items.size();
  if (!takes(sequence, *inputs[1])) return std::nullopt;
  const auto at = inputs.size() > 2 ? counted_position(*inputs[2], length, length + 1)
                                    : std::optional(static_cast<std::ptrdiff_t>(length));
  if (!at) return std::nullopt;
  sequence.items.insert(sequence.items.begin() + *at, std::move(*inputs[1]));
  return std::move(sequence);
}

std::optional<Value> length_of(const Value& sequence) {
  const auto length = static_cast<std::int64_t>(sequence.items.size());
  const auto bytes = std::as_bytes(std::span(&length, 1));
  auto tensor = Tensor::from_bytes(ElementType::int64, {}, {bytes.begin(), bytes.end()});
  return tensor ? std::optional<Value>(*std::move(tensor)) : std::nullopt;
}

std::optional<Value> without_one(std::span<Value* const> inputs) {
  Value& sequence = *inputs[0];
  const std::size_t length = sequence.items.size();
  const auto last = length == 0 ? std::nullopt : std::optional(static_cast<std::ptrdiff_t>(length - 1));
  const auto at = inputs.size() > 1 ? counted_position(*inputs[1], length, length) : last;
  if (!at) return std::nullopt;
  sequence.items.erase(sequence.items.begin() + *at);
  return std::move(sequence);
}

/// Of numbers in the model's file, which the value keeps.
std::optional<Value> constant_of(const std::shared_ptr<const ir::Model>& model, const ir::InitializerTable& constants,
                                 ir::ValueId id) {
  const ir::Tensor* stored = constants.find(id);
  if (!stored) return std::nullopt;
  auto tensor = wire::tensor_of(*stored, {.external = {}, .owner = model});
  return tensor ? std::optional<Value>(*std::move(tensor)) : std::nullopt;
}

}  // namespace

std::optional<SequenceNode> SequenceNode::of(const std::shared_ptr<const ir::Model>& model) {
  if (!model->graph || model->graph->nodes.size() != 1) return std::nullopt;
  const ir::Graph& graph = *model->graph;
  const ir::Node& node = graph.nodes.front();
  constexpr std::pair<std::string_view, Operator> operators[] = {{"SequenceInsert", Operator::insert},
                                                                 {"SequenceErase", Operator::erase},
                                                                 {"SequenceAt", Operator::at},
                                                                 {"SequenceLength", Operator::length}};
  const auto* const known =
      std::ranges::find_if(operators, [&](const auto& one) { return Subject::is_op(node, one.first); });
  if (known == std::end(operators)) return std::nullopt;
  SequenceNode made(known->second);
  const ir::InitializerTable constants(graph);
  for (const ir::ValueId id : node.inputs) {
    if (id == ir::ValueId::none) break;  // an absent position
    const auto input = std::ranges::find(graph.inputs, id, &ir::ValueInfo::value);
    const bool is_input = input != graph.inputs.end();
    auto constant = is_input ? Value() : constant_of(model, constants, id);
    if (!constant) return std::nullopt;
    made.places_.push_back(is_input ? std::optional<std::size_t>(input - graph.inputs.begin()) : std::nullopt);
    made.constants_.push_back(*std::move(constant));
  }
  const bool has_two = made.op_ == Operator::insert || made.op_ == Operator::at;
  const std::size_t fewest = has_two ? 2 : 1;
  return made.places_.size() < fewest ? std::nullopt : std::optional(std::move(made));
}

std::optional<Value> SequenceNode::run(std::span<Value* const> given) const {
  std::vector<Value> constants = constants_;
  std::vector<Value*> inputs;
  for (std::size_t i = 0; i < places_.size(); ++i) inputs.push_back(places_[i] ? given[*places_[i]] : &constants[i]);
  const Value& sequence = *inputs[0];
  if (sequence.kind != ValueKind::sequence) return std::nullopt;
  if (op_ == Operator::insert) return inserted(inputs);
  if (op_ == Operator::erase) return without_one(inputs);
  if (op_ == Operator::length) return length_of(sequence);
  const auto at = counted_position(*inputs[1], sequence.items.size(), sequence.items.size());
  return at ? std::optional(sequence.items[static_cast<std::size_t>(*at)]) : std::nullopt;
}

}  // namespace onnxkit::plan
