// Convolutions of bytes with constant weights: steps over integers, or float32 parts that count exactly.
#include <algorithm>
#include <cmath>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/exact_parts.h"
#include "libonnxkit/plan/integers.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

struct QuantizedFilter {
  std::vector<float> weights;  ///< [m, c / groups, window]
  Dims dims;
  Dims ends;  ///< of parts of the channels
};

/// Parts of the channels whose sums stay exact; one part where there are groups.
std::optional<Dims> channel_parts(const std::vector<float>& weights, const Dims& dims, std::int64_t groups) {
  const std::int64_t filters = dims[0], channels = dims[1], window = element_count(std::span(dims).subspan(2));
  std::vector<double> sums(static_cast<std::size_t>(filters), 0), next(static_cast<std::size_t>(filters));
  Dims ends;
  for (std::int64_t c = 0; c < channels; ++c) {
    bool fits = true;
    for (std::int64_t m = 0; m < filters; ++m) {
      const float* const from = weights.data() + (m * channels + c) * window;
      double sum = 0;
      for (std::int64_t i = 0; i < window; ++i) sum += std::abs(from[i]) * greatest_byte;
      next[static_cast<std::size_t>(m)] = sum;
      if (sum > exact_up_to) return std::nullopt;
      fits = fits && sums[static_cast<std::size_t>(m)] + sum <= exact_up_to;
    }
    if (!fits) {
      if (groups != 1) return std::nullopt;
      ends.push_back(c);
      std::fill(sums.begin(), sums.end(), 0);
    }
    for (std::size_t m = 0; m < sums.size(); ++m) sums[m] += next[m];
  }
  ends.push_back(channels);
  return ends;
}

/// The weights of some channels.
std::vector<float> channels_of(const QuantizedFilter& filter, std::int64_t first, std::int64_t last) {
  const std::int64_t channels = filter.dims[1], window = element_count(std::span(filter.dims).subspan(2));
  std::vector<float> part;
  for (std::int64_t m = 0; m < filter.dims[0]; ++m) {
    const auto from = filter.weights.begin() + (m * channels + first) * window;
    part.insert(part.end(), from, from + (last - first) * window);
  }
  return part;
}

/// Convolutions whose sum is that of the inputs without their zero points, as views of the output's sizes.
Parts convolution_parts(LowerCall& call, std::size_t w_input, std::size_t x_zero, std::size_t w_zero) {
  const Dims x_dims = call.input_dims(0);
  if (!is_byte(call.input_type(0)) || !is_byte(call.input_type(w_input))) return {{}, "factors of more than 8 bits"};
  if (x_dims.size() != 3 && x_dims.size() != 4) return {{}, "only images of one or two axes"};
  if (call.input(0).size() == 0 || element_count(call.output_dims(0)) == 0) return {{}, "without elements"};
  QuantizedFilter filter{.weights = {}, .dims = call.input_dims(w_input), .ends = {}};
  const std::int64_t row = element_count(std::span(filter.dims).subspan(1));
  auto weights = constant_centered(call, w_input, w_zero, filter.dims[0], row, true);
  if (!weights) return {{}, "the weights are not constant"};
  filter.weights = *std::move(weights);
  ConvolutionParameters parameters;
  parameters.groups = call.integer("group", 1);
  parameters.has_exact_sums = true;
  const auto ends = channel_parts(filter.weights, filter.dims, parameters.groups);
  if (!ends || ends->size() > most_parts) return {{}, "sums that float32 cannot hold in few parts"};
  const bool is_line = x_dims.size() == 3;
  Window window = window_geometry(call, Dims(filter.dims.begin() + 2, filter.dims.end()));
  if (is_line) window = with_height(std::move(window));
  parameters.strides = window.strides;
  parameters.dilations = window.dilations;
  parameters.pads = window.pads;
  const auto x = centered(call, 0, x_zero, true);
  if (!x) return {{}, "zero points of other sizes"};
  const View image = channels_last(call, is_line ? with_height(*x) : *x);
  Dims out = call.output_dims(0);
  if (is_line) out.insert(out.begin() + 2, 1);
  Parts parts;
  std::int64_t start = 0;
  for (const std::int64_t end : *ends) {
    const View part = parameters.groups == 1 ? sliced(image, 1, start, 1, end - start) : image;
    const Dims dims = {filter.dims[0], end - start, window.kernel[0], window.kernel[1]};
    const View output = make_channels_last(call, out);
    call.emit(convolution_step, {part, call.constant(channels_of(filter, start, end), dims)}, {output}, parameters);
    parts.views.push_back(is_line ? without_axis(output, 2) : output);
    start = end;
  }
  return parts;
}

Unlowered lower_conv_integer(LowerCall& call) {
  if (const auto sums = convolved_integers(call, {}, std::nullopt, ElementType::int32); sums) {
    call.set_output(0, *sums);
    return std::nullopt;
  }
  if (call.has_input(2) && call.input(2).size() != 1) return "zero points of other sizes";
  Parts parts = convolution_parts(call, 1, 2, 3);
  if (!parts.refused.empty()) return parts.refused;
  Expression e;
  e.round_to(integer_sum(e, parts.views, Lane::i64), ElementType::int32);
  const View output = call.make_output_like(0, parts.views.front());
  call.emit_map(e, std::move(parts.views), output);
  return std::nullopt;
}

Unlowered lower_qlinear_conv(LowerCall& call) {
  const ElementType type = call.output_type(0);
  if (!is_quantized_integer(type)) return "to another type than integers of 8 and 16 bits";
  if (call.input(2).size() != 1 || call.input(1).size() != 1 || call.input(6).size() != 1 || call.input(7).size() != 1)
    return "scales of other sizes";
  if (auto to_bytes = requantization_of(call, 1, 4, 6, 7, type)) {
    const IntegerInputs inputs{.x = 0, .weights = 3, .x_zero = 2, .weight_zero = 5, .bias = 8};
    if (const auto made = convolved_integers(call, inputs, std::move(to_bytes), type)) {
      call.set_output(0, *made);
      return std::nullopt;
    }
  }
  Parts parts = convolution_parts(call, 3, 2, 5);
  if (!parts.refused.empty()) return parts.refused;
  const View output = call.make_output_like(0, parts.views.front());
  const auto by_filter = [&](const View& view) {
    Dims dims(output.rank() - 1, 1);
    dims[0] = view.size();
    return reshaped_or_copied(call, view, view.size() == 1 ? Dims() : dims);
  };
  Expression e;
  Number sum = integer_sum(e, parts.views, Lane::f64);
  std::vector<View> inputs = std::move(parts.views);
  const auto next = [&](const View& view) {
    inputs.push_back(by_filter(view));
    return e.convert(e.input(inputs.size() - 1, lane_of(view.type)), Lane::f64);
  };
  if (call.has_input(8)) sum = e.apply(Operation::add, sum, next(call.input(8)));
  const Number x_scale = next(call.input(1)), w_scale = next(call.input(4)), y_scale = next(call.input(6));
  const Number zero = next(call.input(7));
  sum = e.apply(Operation::multiply, sum, e.apply(Operation::multiply, x_scale, w_scale));
  saturated(e, e.apply(Operation::divide, sum, y_scale), zero, type);
  call.emit_map(e, std::move(inputs), output);
  return std::nullopt;
}

}  // namespace

void register_quantized_conv(LoweringRegistry& registry);
void register_quantized_conv(LoweringRegistry& registry) {
  registry.add("ConvInteger", all_versions(), lower_conv_integer);
  registry.add("QLinearConv", all_versions(), lower_qlinear_conv);
}

}  // namespace onnxkit::plan
