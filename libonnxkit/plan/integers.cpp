#include "libonnxkit/plan/integers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {

bool is_quantized_integer(ElementType type) {
  return is_byte(type) || type == ElementType::int16 || type == ElementType::uint16;
}

Expression::Number saturated(Expression& e, Expression::Number quotient, std::optional<Expression::Number> zero,
                             ElementType type) {
  const Lane lane = e.lane(quotient);
  Expression::Number whole = e.apply(Operation::round_half_even, quotient);
  whole = e.apply(Operation::select, e.apply(Operation::is_nan, whole), e.constant(lane, 0), whole);
  if (zero) whole = e.apply(Operation::add, whole, e.convert(*zero, lane));
  whole = e.apply(Operation::maximum, whole, e.constant(lane, static_cast<double>(least_of(type))));
  whole = e.apply(Operation::minimum, whole, e.constant(lane, static_cast<double>(greatest_of(type))));
  return e.convert(whole, Lane::i64);
}

namespace {

/// A scale with which quotients are ordinary numbers of float32.
bool is_ordinary(double scale) { return std::isfinite(scale) && scale > 1e-30 && scale < 1e30; }

/// Zero points of the weights, one or one for each filter, if all weights less them fit int8. `by_columns`: weights side by side are
/// of one filter after the other, as in the rows of a matrix; else those of a filter lie side by side.
std::optional<std::vector<std::int64_t>> zeros_of_weights(LowerCall& call, const IntegerInputs& inputs,
                                                          std::int64_t filters, bool by_columns) {
  std::vector<std::int64_t> zeros;
  if (call.has_input(inputs.weight_zero)) {
    const auto stated = call.constant_reals(inputs.weight_zero);
    if (!stated || stated->empty() || (stated->size() != 1 && static_cast<std::int64_t>(stated->size()) != filters))
      return std::nullopt;
    for (const double zero : *stated) zeros.push_back(static_cast<std::int64_t>(zero));
  }
  const bool is_signed = call.input_type(inputs.weights) == ElementType::int8;
  const auto all_are = [&](std::int64_t value) {
    return std::all_of(zeros.begin(), zeros.end(), [value](std::int64_t zero) { return zero == value; });
  };
  if (is_signed && all_are(0)) return std::vector<std::int64_t>();
  if (!is_signed && !zeros.empty() && all_are(128)) return std::vector<std::int64_t>{128};
  const auto content = call.constant_content(inputs.weights);
  if (!content || filters == 0) return std::nullopt;
  const auto bytes = content->bytes();
  const auto row = static_cast<std::int64_t>(bytes.size()) / filters;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto filter = static_cast<std::size_t>(by_columns ? at % filters : at / row);
    const std::int64_t number = is_signed ? std::int64_t{static_cast<std::int8_t>(bytes[i])}
                                          : std::int64_t{static_cast<std::uint8_t>(bytes[i])};
    const std::int64_t centered = number - (zeros.empty() ? 0 : zeros[zeros.size() == 1 ? 0 : filter]);
    if (centered < -128 || centered > 127) return std::nullopt;
  }
  return zeros;
}

/// The zero point of x, 0 where none is stated.
std::optional<View> zero_of_image(LowerCall& call, const IntegerInputs& inputs) {
  if (call.has_input(inputs.x_zero)) {
    const View zero = call.input(inputs.x_zero);
    return zero.size() == 1 ? std::optional(reshaped_or_copied(call, zero, {})) : std::nullopt;
  }
  return call.constant(*Tensor::from_bytes(call.input_type(inputs.x), {}, {std::byte{0}}));
}

std::optional<std::vector<View>> bias_of(LowerCall& call, const IntegerInputs& inputs, std::int64_t filters) {
  if (!inputs.bias || !call.has_input(*inputs.bias)) return std::vector<View>();
  const View bias = call.input(*inputs.bias);
  if (bias.type != ElementType::int32 || bias.dims != Dims{filters}) return std::nullopt;
  return std::vector<View>{bias};
}

struct IntegerOperands {
  View x, weights, zero, output;
  std::vector<View> bias;
};

bool emit_integers(LowerCall& call, IntegerOperands operands, IntegerConvolutionParameters parameters,
                   std::optional<Requantization> requantization) {
  const auto filters = static_cast<std::size_t>(operands.output.dims[1]);
  if (requantization && requantization->factors.size() != 1 && requantization->factors.size() != filters) return false;
  parameters.requantization = std::move(requantization);
  std::vector<View> all = {operands.x, operands.weights, operands.zero};
  all.insert(all.end(), operands.bias.begin(), operands.bias.end());
  return call.emit_if_taken(integer_convolution_step, std::move(all), {operands.output}, std::move(parameters));
}

bool are_bytes(LowerCall& call, const IntegerInputs& inputs) {
  return is_byte(call.input_type(inputs.x)) && is_byte(call.input_type(inputs.weights)) &&
         call.is_stored_constant(inputs.weights) && call.input(inputs.x).size() != 0 &&
         call.input(inputs.weights).size() != 0 && element_count(call.output_dims(0)) != 0;
}

}  // namespace

std::optional<Requantization> requantization_of(LowerCall& call, std::size_t x_scale, std::size_t weight_scale,
                                                std::size_t y_scale, std::size_t y_zero, ElementType type,
                                                double alpha) {
  if (!is_byte(type)) return std::nullopt;
  const auto x = call.constant_reals(x_scale), weights = call.constant_reals(weight_scale),
             y = call.constant_reals(y_scale);
  const auto zero = call.constant_reals(y_zero);
  if (!x || !weights || !y || x->size() != 1 || weights->empty() || y->size() != 1 || !is_ordinary((*y)[0]))
    return std::nullopt;
  if (call.has_input(y_zero) && (!zero || zero->size() != 1)) return std::nullopt;
  Requantization made{.factors = {},
                      .divisor = (*y)[0],
                      .zero = zero ? static_cast<std::int64_t>((*zero)[0]) : 0,
                      .lower = static_cast<std::int64_t>(least_of(type)),
                      .upper = static_cast<std::int64_t>(greatest_of(type))};
  for (const double scale : *weights) {
    made.factors.push_back(alpha * (*x)[0] * scale);
    if (!is_ordinary(made.factors.back()) || !is_ordinary(made.factors.back() / made.divisor)) return std::nullopt;
  }
  return made;
}

std::optional<View> convolved_integers(LowerCall& call, const IntegerInputs& inputs,
                                       std::optional<Requantization> requantization, ElementType type) {
  const std::size_t rank = call.input_dims(inputs.x).size();
  if (!are_bytes(call, inputs) || (rank != 3 && rank != 4) || call.input_dims(inputs.weights).size() != rank)
    return std::nullopt;
  const bool is_line = rank == 3;
  View filter = call.input(inputs.weights);
  const std::int64_t filters = filter.dims[0];
  const auto zeros = zeros_of_weights(call, inputs, filters, false);
  const auto zero = zero_of_image(call, inputs);
  const auto bias = bias_of(call, inputs, filters);
  if (!zeros || !zero || !bias) return std::nullopt;
  Window window = window_geometry(call, Dims(filter.dims.begin() + 2, filter.dims.end()));
  View image = call.input(inputs.x);
  Dims out = call.output_dims(0);
  if (is_line) {
    window = with_height(std::move(window));
    image = with_height(image);
    filter = with_height(filter);
    out.insert(out.begin() + 2, 1);
  }
  if (!image.has_channels_last()) {
    View turned = call.make(image.type, image.dims);
    turned.strides = {image.dims[1] * image.dims[2] * image.dims[3], 1, image.dims[1] * image.dims[3], image.dims[1]};
    call.emit_copy(image, turned);
    image = turned;
  }
  View output = call.make(type, out);
  output.strides = {out[1] * out[2] * out[3], 1, out[1] * out[3], out[1]};
  IntegerConvolutionParameters parameters;
  parameters.groups = call.integer("group", 1);
  parameters.strides = window.strides;
  parameters.dilations = window.dilations;
  parameters.pads = window.pads;
  parameters.weight_zeros = *zeros;
  if (!emit_integers(call, {image, filter, *zero, output, *bias}, std::move(parameters), std::move(requantization)))
    return std::nullopt;
  return is_line ? without_axis(std::move(output), 2) : output;
}

std::optional<View> multiplied_integers(LowerCall& call, const IntegerInputs& inputs,
                                        std::optional<Requantization> requantization, ElementType type) {
  if (!are_bytes(call, inputs)) return std::nullopt;
  View a = call.input(inputs.x), b = call.input(inputs.weights);
  constexpr std::int64_t swapped[] = {1, 0};
  if (inputs.turns_x && a.rank() == 2) a = permuted(a, swapped);
  if (inputs.turns_weights && b.rank() == 2) b = permuted(b, swapped);
  if (a.rank() == 0 || b.rank() != 2 || a.dims.back() != b.dims[0]) return std::nullopt;
  const std::int64_t k = b.dims[0], n = b.dims[1], rows = a.size() / k;
  const auto zeros = zeros_of_weights(call, inputs, n, !inputs.turns_weights);
  const auto zero = zero_of_image(call, inputs);
  const auto bias = bias_of(call, inputs, n);
  if (!zeros || !zero || !bias) return std::nullopt;
  const auto as_image = [&](View matrix, std::int64_t channels) {  // a pixel for each row
    matrix.dims = {1, channels, 1, rows};
    matrix.strides = {rows * channels, 1, rows * channels, channels};
    return matrix;
  };
  View filter = b;
  filter.dims = {n, k, 1, 1};
  filter.strides = {b.strides[1], b.strides[0], 1, 1};
  const View matrix = call.make(type, {rows, n});
  IntegerConvolutionParameters parameters;
  parameters.strides = parameters.dilations = {1, 1};
  parameters.pads = {0, 0, 0, 0};
  parameters.weight_zeros = *zeros;
  const View image = as_image(call.contiguous(a), k);
  if (!emit_integers(call, {image, filter, *zero, as_image(matrix, n), *bias}, std::move(parameters),
                     std::move(requantization)))
    return std::nullopt;
  return reshaped(matrix, inputs.result ? *inputs.result : call.output_dims(0));
}

DynamicRange dynamic_range(LowerCall& call, const View& x) {
  const std::vector<bool> all(x.rank(), true);
  const View least = reduced(call, Reduction::minimum, x, all), most = reduced(call, Reduction::maximum, x, all);
  Expression range;
  const auto bounded = [](Expression& e, Operation operation, std::size_t input) {
    return e.apply(operation, e.input(input, Lane::f32), e.constant(Lane::f32, 0));
  };
  const Expression::Number low = bounded(range, Operation::minimum, 0), high = bounded(range, Operation::maximum, 1);
  const Expression::Number length = range.as_float32(range.apply(Operation::subtract, high, low));
  const Expression::Number quotient =
      range.as_float32(range.apply(Operation::divide, length, range.constant(Lane::f32, 255)));
  const Expression::Number is_flat = range.apply(Operation::equal, low, high), one = range.constant(Lane::f32, 1);
  range.apply(Operation::select, is_flat, one, quotient);
  DynamicRange made;
  made.scale = mapped(call, range, {least, most}, ElementType::float32, {});
  Expression zero;
  const Expression::Number start = bounded(zero, Operation::minimum, 0);
  const Expression::Number steps =
      zero.apply(Operation::divide, zero.apply(Operation::negate, start), zero.input(1, Lane::f32));
  saturated(zero, zero.as_float32(steps), std::nullopt, ElementType::uint8);
  made.zero = mapped(call, zero, {least, made.scale}, ElementType::uint8, {});
  return made;
}

View through_bytes(LowerCall& call, const View& x) {
  const DynamicRange range = dynamic_range(call, x);
  Expression e;
  const Expression::Number scale = e.input(1, Lane::f32), zero = e.input(2, Lane::i64);
  const Expression::Number quotient = e.as_float32(e.apply(Operation::divide, e.input(0, Lane::f32), scale));
  const Expression::Number steps = e.apply(Operation::subtract, saturated(e, quotient, zero, ElementType::uint8), zero);
  e.apply(Operation::multiply, e.convert(steps, Lane::f32), scale);
  return mapped(call, e, {x, range.scale, range.zero}, ElementType::float32, x.dims);
}

}  // namespace onnxkit::plan
