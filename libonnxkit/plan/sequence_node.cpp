#include "libonnxkit/plan/sequence_node.h"

#include <algorithm>
#include <utility>

#include "libonnxkit/plan/integer_in.h"
#include "libonnxkit/plan/subject.h"

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

std::optional<Value> inserted(std::span<Value> inputs) {
  Value& sequence = inputs[0];
  const std::size_t length = sequence.items.size();
  if (!takes(sequence, inputs[1])) return std::nullopt;
  const auto at = inputs.size() > 2 ? counted_position(inputs[2], length, length + 1)
                                    : std::optional(static_cast<std::ptrdiff_t>(length));
  if (!at) return std::nullopt;
  sequence.items.insert(sequence.items.begin() + *at, std::move(inputs[1]));
  return std::move(sequence);
}

std::optional<Value> length_of(const Value& sequence) {
  const auto length = static_cast<std::int64_t>(sequence.items.size());
  const auto bytes = std::as_bytes(std::span(&length, 1));
  auto tensor = Tensor::from_bytes(ElementType::int64, {}, {bytes.begin(), bytes.end()});
  return tensor ? std::optional<Value>(*std::move(tensor)) : std::nullopt;
}

}  // namespace

std::optional<SequenceNode> SequenceNode::of(const ir::Model& model) {
  if (!model.graph || model.graph->nodes.size() != 1) return std::nullopt;
  const ir::Node& node = model.graph->nodes.front();
  const bool has_all =
      std::equal(node.inputs.begin(), node.inputs.end(), model.graph->inputs.begin(), model.graph->inputs.end(),
                 [](ir::ValueId id, const ir::ValueInfo& input) { return id == input.value; });
  if (!has_all || node.inputs.empty()) return std::nullopt;
  if (Subject::is_op(node, "SequenceInsert") && node.inputs.size() > 1) return SequenceNode(Operator::insert);
  if (Subject::is_op(node, "SequenceAt") && node.inputs.size() == 2) return SequenceNode(Operator::at);
  if (Subject::is_op(node, "SequenceLength")) return SequenceNode(Operator::length);
  return std::nullopt;
}

std::optional<Value> SequenceNode::run(std::span<Value> inputs) const {
  const Value& sequence = inputs[0];
  if (sequence.kind != ValueKind::sequence) return std::nullopt;
  if (op_ == Operator::insert) return inserted(inputs);
  if (op_ == Operator::length) return length_of(sequence);
  const auto at = counted_position(inputs[1], sequence.items.size(), sequence.items.size());
  return at ? std::optional(sequence.items[static_cast<std::size_t>(*at)]) : std::nullopt;
}

}  // namespace onnxkit::plan
