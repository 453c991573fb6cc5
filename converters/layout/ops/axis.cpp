// Operators that work along one axis.
#include <algorithm>

#include "converters/layout/rules.h"

namespace onnxkit::layout {
namespace {

/// Of all inputs that the operator joins, and all outputs.
std::optional<Frame> concat_frame(const NodeFacts& facts) {
  const auto rank = facts.output_rank();
  if (!rank || !NodeFacts::axis(facts.attribute("axis", 1), *rank)) return std::nullopt;
  Frame frame{*rank, {{.index = 0, .is_output = true}}};
  for (std::size_t i = 0; i < facts.node.inputs.size(); ++i) {
    if (facts.rank(i) != rank) return std::nullopt;
    frame.ports.push_back({.index = i});
  }
  return frame;
}

std::optional<Frame> along_axis_frame(const NodeFacts& facts, std::int64_t default_axis) {
  const auto frame = same_rank_frame(facts);
  if (!frame || !NodeFacts::axis(facts.attribute("axis", default_axis), frame->rank)) return std::nullopt;
  return frame;
}

std::optional<Frame> softmax_frame(const NodeFacts& facts) {
  if (facts.opset < 13 && facts.node.op_type != "LpNormalization") return std::nullopt;  // it flattened its input
  return along_axis_frame(facts, -1);
}
std::optional<Frame> split_frame(const NodeFacts& facts) { return along_axis_frame(facts, 0); }

template <std::int64_t default_axis>
void rewrite_axis(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  const auto axis = NodeFacts::axis(facts.attribute("axis", default_axis), frame.rank);
  editor.set_attribute({"axis", inverse_of(order)[static_cast<std::size_t>(*axis)]});
}

/// One index takes its axis away, a vector of them leaves it in its place. Places in a vector, such as a table, give what they look like.
std::optional<Frame> gather_frame(const NodeFacts& facts) {
  const auto rank = facts.rank(0), indices = facts.rank(1);
  if (rank == 1 && indices && *indices > 1) return Frame{*indices, {{.index = 1}, {.index = 0, .is_output = true}}};
  if (!rank || !indices || *indices > 1) return std::nullopt;
  const auto axis = NodeFacts::axis(facts.attribute("axis", 0), *rank);
  if (!axis) return std::nullopt;
  Frame frame{*rank, {{.index = 0}, {.index = 0, .is_output = true}}};
  if (*indices == 0) frame.ports.back().removed = {*axis};
  return frame;
}

void rewrite_gather(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  if (frame.ports.front().index == 0) rewrite_axis<0>(facts, frame, order, editor);
}

std::optional<Frame> cumulative_frame(const NodeFacts& facts) {
  const auto frame = same_rank_frame(facts);
  const auto axis = facts.integers(1);
  if (!frame || !axis || axis->size() != 1 || !NodeFacts::axis(axis->front(), frame->rank)) return std::nullopt;
  return frame;
}

void rewrite_cumulative(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  const auto axis = NodeFacts::axis(facts.integers(1)->front(), frame.rank);
  const ir::ValueId moved = editor.constant(ElementType::int64, {inverse_of(order)[static_cast<std::size_t>(*axis)]});
  editor.set_input(1, facts.rank(1) == 0 ? editor.emit("Squeeze", {moved}, {}) : moved);
}

}  // namespace

void register_axis(Rules& rules);
void register_axis(Rules& rules) {
  rules.add({"Concat"}, {concat_frame, rewrite_axis<1>});
  rules.add({"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"}, {softmax_frame, rewrite_axis<-1>});
  rules.add({"Split"}, {split_frame, rewrite_axis<0>});
  rules.add({"Gather"}, {gather_frame, rewrite_gather});
  rules.add({"CumSum"}, {cumulative_frame, rewrite_cumulative});
}

}  // namespace onnxkit::layout
