// GatherND: the last axis of the indices holds tuples that name entries of the data's axes after the first `batch_dims` (from version 12),
// which data and indices share.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

struct Ranks {
  std::size_t batch = 0;
  std::size_t tuple = 0;
};

std::optional<Ranks> ranks(InferContext& context, const Shape& data, const Shape& indices) {
  const std::int64_t batch = context.integer("batch_dims", 0);
  const auto limit = static_cast<std::int64_t>(std::min(data.size(), indices.size()));
  if (batch < 0 || batch >= limit) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("batch_dims"),
                   .message = "batch_dims must be less than the ranks of data and indices",
                   .expected = fmt::format("0 to {}", limit - 1),
                   .found = std::to_string(batch)});
    return std::nullopt;
  }
  const Dim tuple = indices.back();
  if (!tuple.is_constant()) {
    context.demand(SizeRelation::at_most, tuple, static_cast<std::int64_t>(data.size()) - batch);
    context.lose_shape(0, "the length of the index tuples is unknown");
    return std::nullopt;
  }
  const auto most = static_cast<std::int64_t>(data.size()) - batch;
  if (tuple.constant() < 1 || tuple.constant() > most) {
    context.error({.code = "shape-mismatch",
                   .at = at_input(1),
                   .message = "the index tuples are longer than the rank of the data",
                   .expected = fmt::format("a last axis of 1 to {}, because the data is {}", most, context.text(data)),
                   .found = context.text(indices)});
    return std::nullopt;
  }
  return Ranks{static_cast<std::size_t>(batch), static_cast<std::size_t>(tuple.constant())};
}

void move_elements_gather_nd(InferContext& context, const Ranks& ranks) {
  const Constant* data = movable_value(context, 0);
  const Constant* indices = movable_value(context, 1);
  if (!indices) return;
  const Shape& sizes = *context.input_shape(0);
  for (std::size_t i = 0; i < indices->elements.size(); ++i) {
    const Dim index = indices->elements[i].dim(), limit = sizes[ranks.batch + i % ranks.tuple];
    if (index.is_constant() && index.constant() >= 0)
      context.demand(SizeRelation::at_most, context.dims().add(index, 1), limit);
    const bool comparable = index.is_constant() && limit.is_constant();
    if (!comparable || (index.constant() >= -limit.constant() && index.constant() < limit.constant())) continue;
    context.error({.code = "index-range",
                   .at = at_input(1),
                   .message = fmt::format("an index is outside axis {} of the data", ranks.batch + i % ranks.tuple),
                   .expected = fmt::format("{} to {}", -limit.constant(), limit.constant() - 1),
                   .found = context.text(index)});
    return;
  }
  if (!data) return;
  const std::size_t outer = indices->shape.size() - 1;
  set_picked(context, data->type, [&](std::span<const std::int64_t> at) {
    std::vector<std::int64_t> tuple_at(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(outer));
    std::vector<std::int64_t> source(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(ranks.batch));
    tuple_at.push_back(0);
    for (std::size_t i = 0; i < ranks.tuple; ++i) {
      tuple_at.back() = static_cast<std::int64_t>(i);
      const Dim index = indices->elements[flat_index(indices->shape, tuple_at)].dim();
      if (!index.is_constant()) return Scalar();
      source.push_back(index.constant() < 0 ? index.constant() + data->shape[source.size()] : index.constant());
    }
    source.insert(source.end(), at.begin() + static_cast<std::ptrdiff_t>(outer), at.end());
    return data->elements[flat_index(data->shape, source)];
  });
}

void infer_gather_nd(InferContext& context) {
  if (rank_below(context, 0, 1) || rank_below(context, 1, 1)) return;
  const Shape* data = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (!data || !indices) return context.lose_shape(0, "the rank of the data or the indices is unknown");
  const auto found = ranks(context, *data, *indices);
  if (!found) return;
  Shape result(indices->begin(), indices->end() - 1);
  for (std::size_t i = 0; i < found->batch; ++i) {
    const Dim expected = (*data)[i];
    if (context.sizes_clash(expected, result[i])) {
      context.error({.code = "shape-mismatch",
                     .at = at_input(1),
                     .message = fmt::format("data and indices differ in batch axis {}", i),
                     .expected = fmt::format("{} in axis {}, because the data is {}", context.text(expected), i,
                                             context.text(*data)),
                     .found = context.text(*indices)});
      return;
    }
  }
  result.insert(result.end(), data->begin() + static_cast<std::ptrdiff_t>(found->batch + found->tuple), data->end());
  context.set_shape(0, std::move(result));
  move_elements_gather_nd(context, *found);
}

}  // namespace

void register_gather_nd(InferRegistry& registry) {
  registry.add("GatherND", all_versions(), infer_gather_nd, {.inputs = {{1, Role::index_nd}}});
  registry.add("com.microsoft", "GatherND", all_versions(), infer_gather_nd, {.inputs = {{1, Role::index_nd}}});
}

}  // namespace onnxkit::checker
