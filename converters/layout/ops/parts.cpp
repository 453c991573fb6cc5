// Parts, borders, copies and other sizes.
#include <algorithm>

#include "converters/layout/rules.h"

namespace onnxkit::layout {
namespace {

/// `axes` of Pad and Slice in the new order.
void rewrite_axes_input(const NodeFacts& facts, std::size_t input, const Frame& frame, const Permutation& order,
                        NodeEditor& editor) {
  const Permutation places = inverse_of(order);
  Axes moved;
  const std::optional<Axes> axes = NodeFacts::axes(*facts.integers(input), frame.rank);
  for (const std::int64_t axis : *axes) moved.push_back(places[static_cast<std::size_t>(axis)]);
  editor.set_input(input, editor.constant(facts.elem(input), moved));
}

bool knows_axes(const NodeFacts& facts, std::size_t input, std::size_t rank) {
  const auto given = facts.integers(input);
  return given && NodeFacts::axes(*given, rank);
}

constexpr std::size_t pads_input = 1, pad_axes_input = 3;

std::optional<Frame> pad_frame(const NodeFacts& facts) {
  const auto frame = same_rank_frame(facts);
  if (!frame || facts.opset < 11) return std::nullopt;
  if (facts.has(pad_axes_input)) return knows_axes(facts, pad_axes_input, frame->rank) ? frame : std::nullopt;
  return frame;
}

void rewrite_pad(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  if (facts.has(pad_axes_input)) return rewrite_axes_input(facts, pad_axes_input, frame, order, editor);
  Permutation both = order;  // those before, then those behind
  for (const std::int64_t axis : order) both.push_back(axis + static_cast<std::int64_t>(frame.rank));
  permute_elements(facts, pads_input, both, editor);
}

constexpr std::size_t slice_starts_input = 1, slice_axes_input = 3;

std::optional<Frame> slice_frame(const NodeFacts& facts) {
  const auto frame = same_rank_frame(facts);
  if (!frame || facts.opset < 10) return std::nullopt;
  if (facts.has(slice_axes_input)) return knows_axes(facts, slice_axes_input, frame->rank) ? frame : std::nullopt;
  const checker::Shape* starts = facts.shape(slice_starts_input);
  return starts && starts->size() == 1 && (*starts)[0].is_constant() ? frame : std::nullopt;
}

void rewrite_slice(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  if (facts.has(slice_axes_input)) return rewrite_axes_input(facts, slice_axes_input, frame, order, editor);
  Axes moved = inverse_of(order);
  moved.resize(static_cast<std::size_t>((*facts.shape(slice_starts_input))[0].constant()));
  editor.set_input(slice_axes_input, editor.constant(facts.elem(slice_starts_input), moved));
}

constexpr std::size_t scales_of_resize = 2, sizes_of_resize = 3;

std::optional<Frame> resize_frame(const NodeFacts& facts) {
  const auto frame = same_rank_frame(facts);
  const std::string_view coordinates = facts.text("coordinate_transformation_mode");
  if (!frame || facts.opset < 11 || coordinates == "tf_crop_and_resize") return std::nullopt;
  if (const auto* axes = facts.list("axes"); axes && !NodeFacts::axes(*axes, frame->rank)) return std::nullopt;
  return frame;
}

void rewrite_resize(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  if (const auto* axes = facts.list("axes")) {
    Axes moved;
    const Permutation places = inverse_of(order);
    const std::optional<Axes> counted = NodeFacts::axes(*axes, frame.rank);
    for (const std::int64_t axis : *counted) moved.push_back(places[static_cast<std::size_t>(axis)]);
    return editor.set_attribute({"axes", moved});
  }
  if (facts.has(sizes_of_resize)) return permute_elements(facts, sizes_of_resize, order, editor);
  if (facts.has(scales_of_resize)) permute_elements(facts, scales_of_resize, order, editor);
}

void rewrite_tile(const NodeFacts& facts, const Frame&, const Permutation& order, NodeEditor& editor) {
  permute_elements(facts, 1, order, editor);
}

/// To a shape of the rank of the result.
std::optional<Frame> expand_frame(const NodeFacts& facts) {
  const auto rank = facts.rank(0), result = facts.output_rank();
  const checker::Shape* wanted = facts.shape(1);
  if (!rank || rank != result || !wanted || wanted->size() != 1 || !(*wanted)[0].is(static_cast<std::int64_t>(*rank)))
    return std::nullopt;
  return same_rank_frame(facts);
}

/// The sizes that are asked for, from those of the permuted value.
std::optional<Frame> shape_frame(const NodeFacts& facts) {
  const auto rank = facts.rank(0);
  if (!rank) return std::nullopt;
  return Frame{*rank, {{.index = 0}}};
}

void rewrite_shape(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  const auto count = static_cast<std::int64_t>(frame.rank);
  const auto bounded = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count); };
  const std::int64_t start = bounded(facts.attribute("start", 0)), end = bounded(facts.attribute("end", count));
  const Permutation places = inverse_of(order);
  const ir::ValueId sizes = editor.emit("Shape", {editor.node->inputs[0]}, {});
  const Axes wanted(places.begin() + start, places.begin() + std::max(start, end));
  editor.node->op_type = "Gather";
  editor.node->attributes.clear();
  editor.node->inputs = {sizes, editor.constant(ElementType::int64, wanted)};
}

}  // namespace

void register_parts(Rules& rules);
void register_parts(Rules& rules) {
  rules.add({"Pad"}, {pad_frame, rewrite_pad});
  rules.add({"Slice"}, {slice_frame, rewrite_slice});
  rules.add({"Resize"}, {resize_frame, rewrite_resize});
  rules.add({"Tile"}, {same_rank_frame, rewrite_tile});
  rules.add({"Expand"}, {expand_frame, rewrite_tile});
  rules.add({"Shape"}, {shape_frame, rewrite_shape});
}

}  // namespace onnxkit::layout
