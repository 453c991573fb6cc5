// Operators that add and remove axes of one element.
#include <algorithm>

#include "converters/layout/rules.h"

namespace onnxkit::layout {
namespace {

/// The axes of the longer shape, each of one element, without which it is the shorter one. Nullopt when there are none such.
std::optional<Axes> more_axes(const checker::Shape& longer, const checker::Shape& shorter) {
  Axes more;
  std::size_t at = 0;
  for (std::size_t axis = 0; axis < longer.size(); ++axis) {
    // The last of several equal axes stay, so that [N, 1, 1, C] loses those in the middle.
    if (at < shorter.size() && longer[axis] == shorter[at])
      ++at;
    else if (longer[axis].is(1))
      more.push_back(static_cast<std::int64_t>(axis));
    else
      return std::nullopt;
  }
  return at == shorter.size() ? std::optional(more) : std::nullopt;
}

std::optional<Frame> frame_of_shapes(const NodeFacts& facts) {
  const checker::Shape *input = facts.shape(0), *output = facts.output_shape();
  if (!input || !output || facts.node.outputs.size() != 1) return std::nullopt;
  const bool grows = output->size() >= input->size();
  const auto more = grows ? more_axes(*output, *input) : more_axes(*input, *output);
  if (!more) return std::nullopt;
  Frame frame{std::max(input->size(), output->size()), {{.index = 0}, {.index = 0, .is_output = true}}};
  frame.ports[grows ? 0 : 1].removed = *more;
  return frame;
}

/// A Reshape that does no more than Squeeze or Unsqueeze. Its sizes must not be copied from the input by place.
std::optional<Frame> reshape_frame(const NodeFacts& facts) {
  const auto sizes = facts.integers(1);
  if (!sizes && facts.attribute("allowzero", 0) == 0) {
    const checker::Shape* output = facts.output_shape();
    if (!output ||
        std::any_of(output->begin(), output->end(), [](const checker::Dim& size) { return size.is_unknown(); }))
      return std::nullopt;
  }
  if (sizes && std::find(sizes->begin(), sizes->end(), 0) != sizes->end()) return std::nullopt;
  return frame_of_shapes(facts);
}

void rewrite_reshape(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  permute_elements(facts, 1, without_axes(order, frame.ports[1].removed), editor);
}

/// Axes that go: those of the frame that the output lacks.
void rewrite_squeeze(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor,
                     std::size_t port) {
  const Permutation places = inverse_of(order);
  Axes moved;
  for (const std::int64_t axis : frame.ports[port].removed) moved.push_back(places[static_cast<std::size_t>(axis)]);
  std::sort(moved.begin(), moved.end());
  if (moved.empty()) return;
  if (facts.opset >= 13)
    editor.set_input(1, editor.constant(ElementType::int64, moved));
  else
    editor.set_attribute({"axes", moved});
}

std::optional<Axes> axes_of_squeeze(const NodeFacts& facts, std::size_t rank) {
  if (facts.opset >= 13) {
    const auto given = facts.integers(1);
    return given ? NodeFacts::axes(*given, rank) : std::nullopt;
  }
  const auto* given = facts.list("axes");
  return given ? NodeFacts::axes(*given, rank) : std::nullopt;
}

template <bool grows>
std::optional<Frame> squeeze_frame(const NodeFacts& facts) {
  const auto rank = grows ? facts.output_rank() : facts.rank(0);
  auto axes = rank ? axes_of_squeeze(facts, *rank) : std::nullopt;
  if (!axes) return std::nullopt;
  std::sort(axes->begin(), axes->end());
  Frame frame{*rank, {{.index = 0}, {.index = 0, .is_output = true}}};
  frame.ports[grows ? 0 : 1].removed = *axes;
  return frame;
}

template <std::size_t port>
void rewrite_squeeze_at(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  rewrite_squeeze(facts, frame, order, editor, port);
}

}  // namespace

void register_reshape(Rules& rules);
void register_reshape(Rules& rules) {
  rules.add({"Reshape"}, {reshape_frame, rewrite_reshape});
  rules.add({"Unsqueeze"}, {squeeze_frame<true>, rewrite_squeeze_at<0>});
  rules.add({"Squeeze"}, {squeeze_frame<false>, rewrite_squeeze_at<1>});
}

}  // namespace onnxkit::layout
