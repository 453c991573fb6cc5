// Pad: `pads` holds the begins of all axes, then the ends; negative ones crop. An attribute in versions 1 (as `paddings`) and 2, an input
// from 11 on, for the axes of a further input from 18 on.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

struct Pads {
  std::optional<Shape> values;
  std::optional<std::size_t> length;
  Where at;
};

Pads read_pads(InferContext& context) {
  if (context.since() < 11) {
    const IntegerList list = list_from_attribute(context, context.since() == 1 ? "paddings" : "pads");
    Pads pads{.values = {}, .length = list.length, .at = list.at};
    if (list.values) pads.values = Shape(list.values->begin(), list.values->end());
    return pads;
  }
  Pads pads{.values = {}, .length = vector_length(context, 1), .at = at_input(1)};
  const Constant* value = movable_value(context, 1);
  if (value && value->shape.size() == 1) pads.values = value->dims();
  return pads;
}

/// How many axes are padded, known even where which ones is not.
std::optional<std::size_t> axis_count(InferContext& context, std::size_t rank) {
  if (context.since() < 18 || !context.has_input(3)) return rank;
  return context.input_rank(3) == 1 ? vector_length(context, 3) : std::nullopt;  // padded_axes reports another rank
}

/// The padded axes; nullopt when they are wrong or not known.
std::optional<std::vector<std::size_t>> padded_axes(InferContext& context, std::size_t rank) {
  if (context.since() >= 18 && context.has_input(3)) {
    const IntegerList axes = list_from_input(context, 3);
    return axes.values ? resolve_axes(context, *axes.values, rank, axes.at) : std::nullopt;
  }
  std::vector<std::size_t> all(rank);
  for (std::size_t i = 0; i < rank; ++i) all[i] = i;
  return all;
}

void move_elements_pad(InferContext& context, const std::vector<std::size_t>& axes, const Shape& pads) {
  const Constant* value = movable_value(context, 0);
  if (!value || context.string("mode") != "constant") return;
  Scalar filler = Scalar::integer(0);
  if (context.since() >= 11 && context.has_input(2)) {
    const Constant* given = context.input_value(2);
    filler = given && given->elements.size() == 1 ? given->elements.front() : Scalar();
  } else if (context.since() < 11) {
    filler = Scalar::real(context.real("value"));
  }
  std::vector<std::int64_t> begins(value->shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!pads[i].is_constant()) return;
    begins[axes[i]] = pads[i].constant();
  }
  set_picked(context, value->type, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> source(at.begin(), at.end());
    for (std::size_t i = 0; i < source.size(); ++i) {
      source[i] -= begins[i];
      if (source[i] < 0 || source[i] >= value->shape[i]) return filler;
    }
    return value->elements[flat_index(value->shape, source)];
  });
}

void infer_pad(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const Pads pads = read_pads(context);
  if (context.since() >= 11) is_not_single(context, 2, "shape-mismatch");
  if (!shape) return context.lose_shape(0, "the rank of the input is unknown");
  context.lose_shape_to_content(0, 1, "the pads are unknown");
  context.set_shape(0, unknown_sizes(shape->size()));
  if (const auto count = axis_count(context, shape->size()); count && pads.length && *pads.length != 2 * *count) {
    context.error({.code = pads.at.kind == Where::Kind::attribute ? "attribute-length" : "shape-mismatch",
                   .at = pads.at,
                   .message = "pads must have a begin and an end for each padded axis",
                   .expected = fmt::format("{} pads for {} axes", 2 * *count, *count),
                   .found = fmt::format("{} pads", *pads.length)});
    return;
  }
  const auto axes = padded_axes(context, shape->size());
  if (!axes) return;
  const Shape given =
      pads.values && pads.values->size() == 2 * axes->size() ? *pads.values : unknown_sizes(2 * axes->size());
  Shape result = *shape;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    Dim& size = result[(*axes)[i]];
    const Dim before = size;
    size = context.dims().add(context.dims().add(size, given[i]), given[i + axes->size()]);
    if (!size.is_constant() || size.constant() >= 0) continue;
    context.error({.code = "negative-size",
                   .at = pads.at,
                   .message = fmt::format("the pads crop more than the size of axis {}", (*axes)[i]),
                   .expected = fmt::format("pads of at least -{} together", context.text(before)),
                   .found = fmt::format("{} and {}", context.text(given[i]), context.text(given[i + axes->size()]))});
  }
  context.set_shape(0, std::move(result));
  move_elements_pad(context, *axes, given);
}

}  // namespace

void register_pad(InferRegistry& registry) {
  registry.add("Pad", all_versions(), infer_pad, {.inputs = {{3, Role::axes}}});
}

}  // namespace onnxkit::checker
