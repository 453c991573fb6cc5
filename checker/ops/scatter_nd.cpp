// ScatterND: the data, with a slice replaced for each index tuple in the last axis of the indices. Updates are shaped as the indices without
// that axis, followed by the data's axes that the tuples leave free.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

std::optional<std::size_t> tuple_length(InferContext& context, const Shape& data, const Shape& indices) {
  const Dim length = indices.back();
  if (!length.is_constant()) {
    const auto rank = static_cast<std::int64_t>(data.size() + indices.size()) - 1;
    context.demand(SizeRelation::at_most, length, static_cast<std::int64_t>(data.size()));
    if (const auto updates = context.input_rank(2))
      context.demand(SizeRelation::equal, length, rank - static_cast<std::int64_t>(*updates));
    return std::nullopt;
  }
  if (length.constant() >= 0 && length.constant() <= static_cast<std::int64_t>(data.size())) {
    return static_cast<std::size_t>(length.constant());
  }
  context.error(
      {.code = "shape-mismatch",
       .at = at_input(1),
       .message = "the index tuples are longer than the rank of the data",
       .expected = fmt::format("a last axis of at most {}, because the data is {}", data.size(), context.text(data)),
       .found = context.text(indices)});
  return std::nullopt;
}

void check_updates_scatter_nd(InferContext& context, const Shape& expected) {
  const Shape* updates = context.input_shape(2);
  if (rank_differs(context, 2, expected.size()) || !updates) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!context.sizes_clash(expected[i], (*updates)[i])) continue;
    context.error({.code = "shape-mismatch",
                   .at = at_input(2),
                   .message = "the shape of the updates does not match indices and data",
                   .expected = context.text(expected),
                   .found = context.text(*updates)});
    return;
  }
}

/// Reports index-range; true when all indices are known and inside.
bool indices_are_known(InferContext& context, const Constant& indices, std::size_t length) {
  const Shape& data = *context.input_shape(0);
  bool known = true;
  for (std::size_t i = 0; i < indices.elements.size(); ++i) {
    const Dim index = indices.elements[i].dim(), limit = data[i % length];
    if (!index.is_constant() || !limit.is_constant()) {
      known = false;
    } else if (index.constant() < -limit.constant() || index.constant() >= limit.constant()) {
      context.error({.code = "index-range",
                     .at = at_input(1),
                     .message = fmt::format("an index is outside axis {} of the data", i % length),
                     .expected = fmt::format("{} to {}", -limit.constant(), limit.constant() - 1),
                     .found = context.text(index)});
      return false;
    }
  }
  return known;
}

void put_elements_scatter_nd(InferContext& context, std::size_t length) {
  const Constant* indices = movable_value(context, 1);
  if (!indices || length == 0 || !indices_are_known(context, *indices, length)) return;
  const Constant* data = movable_value(context, 0);
  const Constant* updates = movable_value(context, 2);
  const bool plain = context.string("reduction").empty() || context.string("reduction") == "none";
  const std::size_t outer = indices->shape.size() - 1;
  if (!data || !updates || !plain || updates->shape.size() != outer + data->shape.size() - length) return;
  for (std::size_t i = 0; i < outer; ++i) {
    if (updates->shape[i] != indices->shape[i]) return;
  }
  for (std::size_t i = length; i < data->shape.size(); ++i) {
    if (updates->shape[outer + i - length] != data->shape[i]) return;
  }
  Constant result = *data;
  build_value(data->type, updates->shape, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> tuple_at(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(outer));
    tuple_at.push_back(0);
    std::vector<std::int64_t> target;
    for (std::size_t i = 0; i < length; ++i) {
      tuple_at.back() = static_cast<std::int64_t>(i);
      const std::int64_t index = indices->elements[flat_index(indices->shape, tuple_at)].dim().constant();
      target.push_back(index < 0 ? index + data->shape[i] : index);
    }
    target.insert(target.end(), at.begin() + static_cast<std::ptrdiff_t>(outer), at.end());
    result.elements[flat_index(data->shape, target)] = updates->elements[flat_index(updates->shape, at)];
    return Scalar();
  });
  context.set_value(0, std::move(result));
}

void infer_scatter_nd(InferContext& context) {
  context.copy_shape(0, 0);
  if (rank_below(context, 0, 1) || rank_below(context, 1, 1)) return;
  const Shape* data = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (!data || !indices) return;
  const auto length = tuple_length(context, *data, *indices);
  if (!length) return;
  Shape updates(indices->begin(), indices->end() - 1);
  updates.insert(updates.end(), data->begin() + static_cast<std::ptrdiff_t>(*length), data->end());
  check_updates_scatter_nd(context, updates);
  put_elements_scatter_nd(context, *length);
}

}  // namespace

void register_scatter_nd(InferRegistry& registry) {
  registry.add("ScatterND", all_versions(), infer_scatter_nd, {.inputs = {{1, Role::index_nd}}});
}

}  // namespace onnxkit::checker
