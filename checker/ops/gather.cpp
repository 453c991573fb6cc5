// Gather: the entries of `axis` that the indices name; the axes of the indices take the place of that axis.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

void move_elements_gather(InferContext& context, std::size_t axis) {
  const Constant* data = movable_value(context, 0);
  const Constant* indices = movable_value(context, 1);
  if (!data || !indices) return;
  const std::size_t index_rank = indices->shape.size();
  const std::int64_t limit = data->shape[axis];
  set_picked(context, data->type, [&](std::span<const std::int64_t> at) {
    const Dim index = indices->elements[flat_index(indices->shape, at.subspan(axis, index_rank))].dim();
    if (!index.is_constant() || index.constant() < -limit || index.constant() >= limit) return Scalar();
    std::vector<std::int64_t> source(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(axis));
    source.push_back(index.constant() < 0 ? index.constant() + limit : index.constant());
    source.insert(source.end(), at.begin() + static_cast<std::ptrdiff_t>(axis + index_rank), at.end());
    return data->elements[flat_index(data->shape, source)];
  });
}

void infer_gather(InferContext& context) {
  if (rank_below(context, 0, 1)) return;
  const Shape* data = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (!data) return context.lose_shape(0, "the rank of the data is unknown");
  const auto axis = resolve_axis(context, context.integer("axis"), data->size(), at_attribute("axis"));
  if (!axis) return;
  check_indices(context, 1, (*data)[*axis]);
  if (!indices) return context.lose_shape(0, "the rank of the indices is unknown");
  const auto gathered = data->begin() + static_cast<std::ptrdiff_t>(*axis);
  Shape result(data->begin(), gathered);
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), gathered + 1, data->end());
  context.set_shape(0, std::move(result));
  move_elements_gather(context, *axis);
}

}  // namespace

void register_gather(InferRegistry& registry) {
  registry.add("Gather", all_versions(), infer_gather, {.inputs = {{0, Role::moved}, {1, Role::index}}});
}

}  // namespace onnxkit::checker
