// Expand: the input broadcast with the sizes that the second input holds, in both directions.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

std::optional<Shape> broadcast_sizes(InferContext& context, const Shape& data, const Shape& target) {
  const std::size_t rank = std::max(data.size(), target.size());
  Shape result(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim own = i + data.size() < rank ? Dim(1) : data[i + data.size() - rank];
    const Dim wanted = i + target.size() < rank ? Dim(1) : target[i + target.size() - rank];
    const auto never = [&](Dim a, Dim b) {
      return !a.is_unknown() && !b.is_unknown() && context.dims().never_equal(a, b);
    };
    if (never(own, wanted) && never(own, 1) && never(wanted, 1)) {
      context.error({.code = "broadcast-mismatch",
                     .at = at_input(1),
                     .message = fmt::format("the input cannot be broadcast to the target in axis {} of the result", i),
                     .expected = fmt::format("{} or 1, because the input is {}", context.text(own), context.text(data)),
                     .found = context.text(target)});
      return std::nullopt;
    }
    result[i] = broadcast_dim(context, own, wanted);
  }
  return result;
}

void move_elements_expand(InferContext& context) {
  const Constant* value = movable_value(context, 0);
  if (!value) return;
  set_picked(context, value->type, [&](std::span<const std::int64_t> at) {
    const auto tail = at.last(value->shape.size());
    std::vector<std::int64_t> source(tail.begin(), tail.end());
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (value->shape[i] == 1) source[i] = 0;
    }
    return value->elements[flat_index(value->shape, source)];
  });
}

void infer_expand(InferContext& context) {
  const Shape* data = context.input_shape(0);
  const auto target = sizes_from_content(context, 1);
  if (!data) return context.lose_shape(0, "the rank of the input is unknown");
  if (!target) return context.lose_shape(0, "the number of target sizes is unknown");
  context.lose_shape_to_content(0, 1, "the target sizes are unknown");
  if (auto result = broadcast_sizes(context, *data, *target)) {
    context.set_shape(0, std::move(*result));
    move_elements_expand(context);
  }
}

}  // namespace

void register_expand(InferRegistry& registry) {
  registry.add("Expand", all_versions(), infer_expand, {.inputs = {{0, Role::moved}, {1, Role::stretched}}});
}

}  // namespace onnxkit::checker
