// Transpose: output axis i is input axis perm[i]; without `perm` the order is reversed.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

std::optional<std::vector<std::size_t>> permutation(InferContext& context, const std::vector<std::int64_t>& perm,
                                                    std::size_t rank) {
  std::vector<std::size_t> axes;
  std::vector<bool> named(rank, false);
  for (const std::int64_t axis : perm) {
    const bool valid = axis >= 0 && axis < static_cast<std::int64_t>(rank) && !named[static_cast<std::size_t>(axis)];
    if (!valid) break;
    named[static_cast<std::size_t>(axis)] = true;
    axes.push_back(static_cast<std::size_t>(axis));
  }
  if (axes.size() == rank && perm.size() == rank) return axes;
  const Shape* shape = context.input_shape(0);
  context.error(
      {.code = "permutation",
       .at = at_attribute("perm"),
       .message = "perm is not a permutation of the input's axes",
       .expected = shape ? fmt::format("each of {} axes once, because the input is {}", rank, context.text(*shape))
                         : fmt::format("each of {} axes once", rank),
       .found = fmt::format("[{}]", fmt::join(perm, ", "))});
  return std::nullopt;
}

void infer_transpose(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  // A list without elements is a permutation of no axes, not the default.
  const auto* perm = context.list_as_written<std::int64_t>("perm");
  if (!shape && !perm) return context.lose_shape(0, "the rank of the input is unknown");
  const std::size_t rank = shape ? shape->size() : perm->size();
  std::vector<std::size_t> axes(rank);
  std::iota(axes.rbegin(), axes.rend(), std::size_t{0});
  if (perm) {
    auto given = permutation(context, *perm, rank);
    if (!given) return context.lose_shape(0, "perm is not a permutation");
    axes = std::move(*given);
  }
  if (!shape) return context.set_shape(0, unknown_sizes(rank));
  Shape result;
  for (const std::size_t axis : axes) result.push_back((*shape)[axis]);
  context.set_shape(0, std::move(result));

  const Constant* value = movable_value(context, 0);
  if (!value) return;
  set_picked(context, value->type, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> source(rank);
    for (std::size_t i = 0; i < rank; ++i) source[axes[i]] = at[i];
    return value->elements[flat_index(value->shape, source)];
  });
}

}  // namespace

void register_transpose(InferRegistry& registry) {
  registry.add("Transpose", all_versions(), infer_transpose, {.inputs = {{0, Role::moved}}});
}

}  // namespace onnxkit::checker
