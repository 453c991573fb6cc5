// Concat: joins along `axis`; all other sizes agree. Version 1 has a default axis of 1.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

/// The first input whose rank is known, all others of known rank agreeing with it.
std::optional<std::size_t> model_input(InferContext& context) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const auto rank = context.input_rank(i);
    if (!rank) continue;
    if (rank_below(context, i, 1)) return std::nullopt;
    if (!first) first = i;
    if (*rank == *context.input_rank(*first)) continue;
    context.error({.code = "rank-mismatch",
                   .at = at_input(i),
                   .message = "all inputs must have the same rank",
                   .expected = fmt::format("rank {}, because input {} is {}", *context.input_rank(*first), *first,
                                           context.text(*context.input_shape(*first))),
                   .found = context.text(*context.input_shape(i))});
    return std::nullopt;
  }
  return first;
}

Shape joined_sizes(InferContext& context, std::size_t first, std::size_t axis) {
  Shape result = *context.input_shape(first);
  result[axis] = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Shape* shape = context.input_shape(i);
    result[axis] = shape ? context.dims().add(result[axis], (*shape)[axis]) : Dim();
    if (!shape) continue;
    for (std::size_t k = 0; k < result.size(); ++k) {
      if (k == axis) continue;
      result[k] = require_equal(context, result[k], (*shape)[k],
                                {.code = "shape-mismatch",
                                 .at = at_input(i),
                                 .message = fmt::format("inputs joined along axis {} differ in axis {}", axis, k),
                                 .expected = fmt::format("{} in axis {}", context.text(result[k]), k),
                                 .found = context.text(*shape)});
    }
  }
  return result;
}

/// Joins what is known of the contents; parts of which only the sizes are known give unknown elements.
void join_contents(InferContext& context, std::size_t axis) {
  std::vector<const Constant*> parts;
  std::vector<std::vector<std::int64_t>> sizes;
  bool any = false;
  ElementType type = ElementType::undefined;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    auto constant = constant_input_sizes(context, i);
    if (!constant || !small_count(*constant)) return;
    const Constant* value = movable_value(context, i);
    any = any || value;
    if (value) type = value->type;
    const bool aligned =
        sizes.empty() || std::equal(constant->begin(), constant->end(), sizes.front().begin(),
                                    [&](auto& a, auto& b) { return a == b || &a == &(*constant)[axis]; });
    if (!aligned) return;
    parts.push_back(value);
    sizes.push_back(std::move(*constant));
  }
  if (!any) return;
  set_picked(context, type, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> source(at.begin(), at.end());
    std::size_t part = 0;
    while (source[axis] >= sizes[part][axis]) source[axis] -= sizes[part++][axis];
    return parts[part] ? parts[part]->elements[flat_index(sizes[part], source)] : Scalar();
  });
}

void infer_concat(InferContext& context) {
  const auto first = model_input(context);
  if (!first) return context.lose_shape(0, "no input has a usable rank");
  const std::size_t rank = *context.input_rank(*first);
  const auto axis = resolve_axis(context, context.integer("axis", 1), rank, at_attribute("axis"));
  if (!axis) return;
  context.set_shape(0, joined_sizes(context, *first, *axis));
  join_contents(context, *axis);
}

}  // namespace

void register_concat(InferRegistry& registry) {
  registry.add("Concat", all_versions(), infer_concat, {.inputs = {{0, Role::moved}, {1, Role::moved}}});
}

}  // namespace onnxkit::checker
