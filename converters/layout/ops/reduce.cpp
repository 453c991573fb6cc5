// Reductions, whose axes are an attribute in older opsets and an input in newer ones.
#include <algorithm>

#include "converters/layout/rules.h"

namespace onnxkit::layout {
namespace {

bool has_axes_input(const NodeFacts& facts) {
  return facts.opset >= 18 || (facts.opset >= 13 && facts.node.op_type == "ReduceSum");
}

/// The axes that are reduced, ascending; empty for all of them or none. Nullopt when they are not known.
std::optional<Axes> reduced_axes(const NodeFacts& facts, std::size_t rank) {
  std::optional<Axes> axes = Axes();
  if (has_axes_input(facts)) {
    if (facts.has(1)) {
      const auto given = facts.integers(1);
      axes = given ? NodeFacts::axes(*given, rank) : std::nullopt;
    }
  } else if (const auto* given = facts.list("axes")) {
    axes = NodeFacts::axes(*given, rank);
  }
  if (axes) std::sort(axes->begin(), axes->end());
  return axes;
}

std::optional<Frame> reduce_frame(const NodeFacts& facts) {
  const auto rank = facts.rank(0);
  const auto axes = rank ? reduced_axes(facts, *rank) : std::nullopt;
  if (!axes) return std::nullopt;
  Frame frame{*rank, {{.index = 0}, {.index = 0, .is_output = true}}};
  if (facts.attribute("keepdims", 1) == 0) {
    if (axes->empty()) return std::nullopt;
    frame.ports.back().removed = *axes;
  }
  return frame;
}

void rewrite_reduce(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  const Permutation places = inverse_of(order);
  Axes moved;
  const std::optional<Axes> axes = reduced_axes(facts, frame.rank);
  for (const std::int64_t axis : *axes) moved.push_back(places[static_cast<std::size_t>(axis)]);
  if (moved.empty()) return;
  std::sort(moved.begin(), moved.end());
  if (has_axes_input(facts))
    editor.set_input(1, editor.constant(ElementType::int64, moved));
  else
    editor.set_attribute({"axes", moved});
}

std::optional<Frame> extreme_frame(const NodeFacts& facts) {
  const auto rank = facts.rank(0);
  const auto axis = rank ? NodeFacts::axis(facts.attribute("axis", 0), *rank) : std::nullopt;
  if (!axis) return std::nullopt;
  Frame frame{*rank, {{.index = 0}, {.index = 0, .is_output = true}}};
  if (facts.attribute("keepdims", 1) == 0) frame.ports.back().removed = {*axis};
  return frame;
}

void rewrite_extreme(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  const auto axis = NodeFacts::axis(facts.attribute("axis", 0), frame.rank);
  editor.set_attribute({"axis", inverse_of(order)[static_cast<std::size_t>(*axis)]});
}

}  // namespace

void register_reduce(Rules& rules);
void register_reduce(Rules& rules) {
  rules.add({"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
             "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"},
            {reduce_frame, rewrite_reduce});
  rules.add({"ArgMax", "ArgMin"}, {extreme_frame, rewrite_extreme});
}

}  // namespace onnxkit::layout
