// Tile: version 1 repeats one axis, version 6 on has a repeat count for each axis.
#include <cmath>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

void infer_1_tile(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape) return context.lose_shape(0, "the rank of the input is unknown");
  // Both numbers have the type of the data, so they may be reals.
  Shape result = *shape;
  const auto axis = context.constant_reals(2), tiles = context.constant_reals(1);
  const auto integer = [](double real) { return std::abs(real) < 9e18 ? static_cast<std::int64_t>(real) : -1; };
  if (!axis || axis->size() != 1) {
    context.lose_shape_to_content(0, 2, "the repeated axis is unknown");
    return context.set_shape(0, unknown_sizes(shape->size()));
  }
  const auto resolved = resolve_axis(context, integer(axis->front()), shape->size(), at_input(2), false);
  if (!resolved) return;
  const Dim count = tiles && tiles->size() == 1 ? Dim(integer(tiles->front())) : Dim();
  result[*resolved] = context.dims().mul(result[*resolved], count);
  context.set_shape(0, std::move(result));
}

void infer_6(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const auto repeats = sizes_from_content(context, 1);
  context.lose_shape_to_content(0, 1, "the repeats are unknown");
  if (!shape) {
    if (repeats) context.set_shape(0, unknown_sizes(repeats->size()));
    return;
  }
  Shape result = unknown_sizes(shape->size());
  if (!length_differs(context, 1, shape->size(), "there must be one repeat per axis") && repeats) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = context.dims().mul((*shape)[i], (*repeats)[i]);
  }
  context.set_shape(0, std::move(result));

  const Constant* value = movable_value(context, 0);
  if (!value) return;
  set_picked(context, value->type, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> source(at.begin(), at.end());
    for (std::size_t i = 0; i < source.size(); ++i) source[i] %= value->shape[i];
    return value->elements[flat_index(value->shape, source)];
  });
}

}  // namespace

void register_tile(InferRegistry& registry) {
  registry.add("Tile", versions(1, 5), infer_1_tile, {.inputs = {{0, Role::moved}, {1, Role::size}}});
  registry.add("Tile", since(6), infer_6, {.inputs = {{0, Role::moved}, {1, Role::size}}});
}

}  // namespace onnxkit::checker
