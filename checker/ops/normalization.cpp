// BatchNormalization, InstanceNormalization, GroupNormalization, LayerNormalization, RMSNormalization, LpNormalization,
// MeanVarianceNormalization, LRN: the output has the input's shape; scale, bias and statistics are rows along the channels.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

/// Size of axis 1, the channels of [N, C, d1, ..., dn]; unknown when there is none.
Dim channels(InferContext& context) {
  const Shape* x = context.input_shape(0);
  return x && x->size() >= 2 ? (*x)[1] : Dim();
}

/// Scale, bias, mean and variance of this shape come in as inputs 1 to 4 and, in training, go out behind the result.
void infer_batch(InferContext& context, const std::optional<Shape>& statistics) {
  static constexpr std::string_view names[] = {"scale", "bias", "mean", "variance"};
  context.copy_shape(0, 0);
  if (!statistics) return;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    require_shape(context, i + 1, *statistics, fmt::format("there must be one {} per channel", names[i]));
  }
  for (std::size_t output = 1; output < context.output_count(); ++output) context.set_shape(output, *statistics);
}

/// With spatial = 0 the statistics are kept for every location of the image.
void infer_batch_1(InferContext& context) {
  if (context.integer("spatial", 1) != 0) return infer_batch(context, Shape{channels(context)});
  const Shape* x = context.input_shape(0);
  if (context.since() < 7 || !x || x->empty()) return infer_batch(context, std::nullopt);
  infer_batch(context, Shape(x->begin() + 1, x->end()));
}

void infer_batch_9(InferContext& context) { infer_batch(context, Shape{channels(context)}); }

void infer_batch_14(InferContext& context) {
  infer_batch_9(context);
  if (context.integer("training_mode") != 0) {
    if (context.output_count() == 3) return;
    return context.error({.code = "output-count",
                          .at = at_node(),
                          .message = "training mode also returns the running statistics",
                          .expected = "3 outputs, or training_mode = 0",
                          .found = fmt::format("{} outputs", context.output_count())});
  }
  if (!context.has_output(1) && !context.has_output(2)) return;
  context.error({.code = "output-count",
                 .at = at_node(),
                 .message = "only training mode returns the running statistics",
                 .expected = "1 output, or training_mode = 1",
                 .found = fmt::format("{} outputs", context.output_count())});
}

void infer_instance(InferContext& context) {
  context.copy_shape(0, 0);
  if (rank_below(context, 0, 3)) return;
  require_shape(context, 1, {channels(context)}, "there must be one scale per channel");
  require_shape(context, 2, {channels(context)}, "the bias must have one element per channel");
}

void infer_group(InferContext& context, bool scales_per_group) {
  context.copy_shape(0, 0);
  const std::int64_t groups = context.integer("num_groups", 1);
  if (rank_below(context, 0, 2) || !require_in_range(context, "num_groups", groups, 1)) return;
  const std::string why = fmt::format("the channels cannot be split into {} groups", groups);
  if (!require_divisible(context, channels(context), groups, at_attribute("num_groups"), why)) return;
  const Dim length = scales_per_group ? Dim(groups) : channels(context);
  const std::string_view unit = scales_per_group ? "group" : "channel";
  require_shape(context, 1, {length}, fmt::format("there must be one scale per {}", unit));
  require_shape(context, 2, {length}, fmt::format("there must be one bias per {}", unit));
}

void infer_group_18(InferContext& context) { infer_group(context, true); }
void infer_group_21(InferContext& context) { infer_group(context, false); }

/// The axis from which on all are normalized.
std::optional<std::size_t> first_normalized_axis(InferContext& context) {
  const auto rank = context.input_rank(0);
  if (!rank) return std::nullopt;
  return resolve_axis(context, context.integer("axis", -1), *rank, at_attribute("axis"));
}

void infer_layer(InferContext& context) {
  context.copy_shape(0, 0);
  for (const std::size_t output : {1, 2}) set_elem_from_attribute(context, output, "stash_type", ElementType::float32);
  const auto axis = first_normalized_axis(context);
  if (!axis) return;
  Shape statistics = *context.input_shape(0);
  require_broadcast_to(context, 1, statistics, "the scale does not match the normalized axes");
  require_broadcast_to(context, 2, statistics, "the bias does not match the normalized axes");
  for (std::size_t i = *axis; i < statistics.size(); ++i) statistics[i] = 1;
  context.set_shape(1, statistics);
  context.set_shape(2, std::move(statistics));
}

/// SimplifiedLayerNormalization gives the reciprocal root of the mean square as well.
void infer_rms(InferContext& context) {
  context.copy_shape(0, 0);
  set_elem_from_attribute(context, 1, "stash_type", ElementType::float32);
  const auto axis = first_normalized_axis(context);
  if (!axis) return;
  Shape statistics = *context.input_shape(0);
  require_broadcast_to(context, 1, statistics, "the scale does not match the normalized axes");
  for (std::size_t i = *axis; i < statistics.size(); ++i) statistics[i] = 1;
  context.set_shape(1, std::move(statistics));
}

void infer_lp(InferContext& context) {
  context.copy_shape(0, 0);
  require_in_range(context, "p", context.integer("p", 2), 1, 2);
  if (const auto rank = context.input_rank(0))
    resolve_axis(context, context.integer("axis", -1), *rank, at_attribute("axis"));
}

void infer_mean_variance(InferContext& context) {
  context.copy_shape(0, 0);
  const auto axes = context.integers("axes");
  const auto rank = context.input_rank(0);
  if (axes && rank) resolve_axes(context, *axes, *rank, at_attribute("axes"));
}

void infer_lrn(InferContext& context) {
  context.copy_shape(0, 0);
  require_in_range(context, "size", context.integer("size", 1), 1);
  rank_below(context, 0, 2);
}

}  // namespace

void register_normalization(InferRegistry& registry) {
  registry.add("BatchNormalization", versions(1, 8), infer_batch_1);
  registry.add("BatchNormalization", versions(9, 13), infer_batch_9);
  registry.add("BatchNormalization", since(14), infer_batch_14, {.training = {.attribute = "training_mode"}});
  registry.add("InstanceNormalization", all_versions(), infer_instance);
  registry.add("GroupNormalization", versions(18, 20), infer_group_18);
  registry.add("GroupNormalization", since(21), infer_group_21, {.type_attributes = {"stash_type"}});
  registry.add("LayerNormalization", all_versions(), infer_layer, {.type_attributes = {"stash_type"}});
  for (const char* op : {"RMSNormalization", "SimplifiedLayerNormalization"})
    registry.add(op, all_versions(), infer_rms, {.type_attributes = {"stash_type"}});
  registry.add("LpNormalization", all_versions(), infer_lp);
  registry.add("MeanVarianceNormalization", all_versions(), infer_mean_variance);
  registry.add("LRN", all_versions(), infer_lrn);
}

}  // namespace onnxkit::checker
