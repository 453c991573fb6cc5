// Conv, ConvInteger, QLinearConv, DeformConv, CausalConvWithState: filters [M, C/group, k1, ..., kn] over an image [N, C, d1, ..., dn].
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/window_rules.h"

namespace onnxkit::checker {
namespace {

/// The attribute, or nullopt and attribute-value when it is below 1.
std::optional<std::int64_t> read_groups(InferContext& context, std::string_view name) {
  const std::int64_t groups = context.integer(name, 1);
  return require_in_range(context, name, groups, 1) ? std::optional(groups) : std::nullopt;
}

bool comes_in_groups(InferContext& context, Dim size, std::int64_t groups, Where at, std::string_view what) {
  return require_divisible(context, size, groups, at, fmt::format("{} cannot be split into {} groups", what, groups));
}

void check_channels_conv(InferContext& context, std::size_t x_index, std::size_t w_index, std::int64_t groups) {
  const Shape* x = context.input_shape(x_index);
  const Shape* w = context.input_shape(w_index);
  if (w && !comes_in_groups(context, (*w)[0], groups, at_input(w_index), "the filters")) return;
  if (!x || !comes_in_groups(context, (*x)[1], groups, at_input(x_index), "the channels") || !w) return;
  const Dim seen = context.dims().mul((*w)[1], groups);
  context.need_equal(seen, (*x)[1], at_input(w_index));
  if (seen.is_unknown() || (*x)[1].is_unknown() || !context.dims().never_equal(seen, (*x)[1])) return;
  const bool grouped = groups != 1;
  context.error({.code = "shape-mismatch",
                 .at = at_input(w_index),
                 .message = "the weight does not match the number of channels",
                 .expected = fmt::format("{} channels{} in axis 1, because input {} is {}",
                                         context.text(grouped ? context.dims().floor_div((*x)[1], groups) : (*x)[1]),
                                         grouped ? " per group" : "", x_index, context.text(*x)),
                 .found = context.text(*w)});
}

/// Output shape [N, M, o1, ..., on] with everything checked but the bias; nullopt when not even the rank is known.
std::optional<Shape> conv_shape(InferContext& context, std::size_t x_index, std::size_t w_index) {
  if (rank_below(context, x_index, 3) || rank_below(context, w_index, 3)) return std::nullopt;
  const Shape* x = context.input_shape(x_index);
  const Shape* w = context.input_shape(w_index);
  if (!x && !w) return std::nullopt;
  const std::size_t rank = x ? x->size() : w->size();
  if (rank_differs(context, w_index, rank)) return std::nullopt;
  if (const auto groups = read_groups(context, "group")) check_channels_conv(context, x_index, w_index, *groups);
  Shape y(rank);
  if (x) y[0] = (*x)[0];
  if (w) y[1] = (*w)[0];
  static const Shape no_weight;
  const auto window = read_window(context, rank - 2, w ? w : &no_weight);
  if (!window || !x) return y;
  const Shape image = window_counts(context, *window, std::span(*x).subspan(2));
  std::copy(image.begin(), image.end(), y.begin() + 2);
  return y;
}

void check_bias(InferContext& context, std::size_t bias, std::size_t w_index) {
  const Shape* w = context.input_shape(w_index);
  require_shape(context, bias, {w && !w->empty() ? w->front() : Dim()}, "the bias must have one element per filter");
}

void infer_conv(InferContext& context) {
  if (auto y = conv_shape(context, 0, 1)) context.set_shape(0, std::move(*y));
  check_bias(context, 2, 1);
}

/// Scales and zero points of the weight: a scalar or one for each filter.
void check_per_filter(InferContext& context, std::size_t input, std::size_t w_index, std::string_view what) {
  const Shape* shape = context.input_shape(input);
  const Shape* w = context.input_shape(w_index);
  const bool is_single = shape && (shape->empty() || (shape->size() == 1 && shape->front().is(1)));
  if (is_single) return;
  require_shape(context, input, {w && !w->empty() ? w->front() : Dim()},
                fmt::format("the {} must have one element per filter", what));
}

void infer_conv_integer(InferContext& context) {
  if (auto y = conv_shape(context, 0, 1)) context.set_shape(0, std::move(*y));
  require_single_element(context, 2, "the zero point of the image must be a scalar");
  check_per_filter(context, 3, 1, "zero point");
}

void infer_qlinear_conv(InferContext& context) {
  if (auto y = conv_shape(context, 0, 3)) context.set_shape(0, std::move(*y));
  require_single_element(context, 1, "the scale of the image must be a scalar");
  require_single_element(context, 2, "the zero point of the image must be a scalar");
  check_per_filter(context, 4, 3, "scale");
  check_per_filter(context, 5, 3, "zero point");
  require_single_element(context, 6, "the scale of the result must be a scalar");
  require_single_element(context, 7, "the zero point of the result must be a scalar");
  check_bias(context, 8, 3);
}

/// Offsets [N, offset_group * k1 * ... * kn * n, o1, ..., on] and mask, the same without the factor n.
void check_deformation(InferContext& context, const Shape& y) {
  const auto groups = read_groups(context, "offset_group");
  const Shape* x = context.input_shape(0);
  const Shape* w = context.input_shape(1);
  if (!groups) return;
  if (x) comes_in_groups(context, (*x)[1], *groups, at_input(0), "the channels");
  const auto axes = static_cast<std::int64_t>(y.size() - 2);
  const Dim offsets_per_position = w ? context.dims().mul(product(context, std::span(*w).subspan(2)), *groups) : Dim();
  Shape expected = y;
  expected[1] = context.dims().mul(offsets_per_position, axes);
  require_shape(context, 2, expected, fmt::format("there must be {} offsets per kernel tap and output position", axes));
  // For other than two axes the specification contradicts itself on the mask's channels.
  expected[1] = axes == 2 ? offsets_per_position : Dim();
  require_shape(context, 4, expected, "there must be one factor per kernel tap and output position");
}

void infer_deform_conv(InferContext& context) {
  check_bias(context, 3, 1);
  auto y = conv_shape(context, 0, 1);
  if (!y) return;
  check_deformation(context, *y);
  context.set_shape(0, std::move(*y));
}

/// Depthwise along one axis, past values in front: the result is as long as the input. com.microsoft adds dilations, channels behind the axis of time,
/// further image axes in front of it, and a leading axis of the states of several positions.
void infer_causal_conv(InferContext& context) {
  const auto stated = [&](std::string_view name, std::int64_t usual) { return context.integer(name, usual); };
  const std::int64_t axes = stated("ndim", 1), dilation = stated("dilation", 1), window = stated("state_window", 0);
  const bool is_last = stated("channels_last", 0) != 0;
  context.copy_shape(0, 0);
  if (axes < 1 || axes > 3 || !require_in_range(context, "dilation", dilation, 1)) return;
  const auto rank = static_cast<std::size_t>(axes) + 2;
  if ((!is_last && rank_differs(context, 0, rank)) || rank_differs(context, 1, rank)) return;
  const Shape* x = context.input_shape(0);
  const Shape* w = context.input_shape(1);
  if ((x && x->size() < 3) || (is_last && axes != 1)) return;
  const Dim of_input = x ? is_last ? product(context, std::span(*x).subspan(2)) : (*x)[1] : Dim();
  const Dim channels = of_input.is_unknown() && w ? (*w)[0] : of_input;
  Shape filter(rank, Dim());
  filter[0] = channels, filter[1] = 1;
  require_shape(context, 1, filter, "there must be one filter of [1, k] per channel");
  require_shape(context, 2, {channels}, "the bias must have one element per channel");
  if (axes != 1 || (is_last && !x)) return;
  const Dim held = w ? context.dims().mul(context.dims().sub((*w)[2], 1), dilation) : Dim();
  Shape state = x ? *x : Shape{Dim(), channels, Dim()};
  state[is_last ? 1 : 2] = held;
  if (!is_last) state[1] = channels;
  if (window > 0) state.insert(state.begin(), Dim(window));
  require_shape(context, 3, state, "the past state must hold the last k - 1 positions of each channel");
  context.set_shape(1, std::move(state));
}

}  // namespace

void register_conv(InferRegistry& registry) {
  registry.add("Conv", all_versions(), infer_conv, {.cost = cost::convolution});
  registry.add("com.microsoft", "FusedConv", all_versions(), infer_conv, {.cost = cost::convolution});
  registry.add("ConvInteger", all_versions(), infer_conv_integer, {.cost = cost::convolution});
  registry.add("QLinearConv", all_versions(), infer_qlinear_conv, {.cost = cost::quantized_convolution});
  registry.add("DeformConv", all_versions(), infer_deform_conv, {.cost = cost::convolution});
  for (const char* domain : {"", "com.microsoft"})
    registry.add(domain, "CausalConvWithState", all_versions(), infer_causal_conv, {.cost = cost::convolution});
}

}  // namespace onnxkit::checker
