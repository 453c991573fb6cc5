#include <algorithm>
#include <cmath>

#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// Of float64, of which no kernel is made: exp(x - most) divided by the sum of the line, or x - most less the logarithm of the sum.
template <bool is_log>
View wide_softmax(LowerCall& call, const View& x, std::size_t axis) {
  const std::vector<bool> goes = only_axis(x.rank(), axis);
  Dims one = x.dims;
  one[axis] = 1;
  const View most = reshaped(reduced(call, Reduction::maximum, x, goes), one);
  Expression power, e;
  power.apply(Operation::exponential,
              power.apply(Operation::subtract, power.input(0, Lane::f64), power.input(1, Lane::f64)));
  const View powers = call.make_like(ElementType::float64, x.dims, x);
  call.emit_map(power, {x, most}, powers);
  const View sums = reshaped(reduced(call, Reduction::sum, powers, goes), one);
  const View result = call.make_like(ElementType::float64, x.dims, x);
  if (is_log) {
    const Number above = e.apply(Operation::subtract, e.input(0, Lane::f64), e.input(1, Lane::f64));
    e.apply(Operation::subtract, above, e.apply(Operation::logarithm, e.input(2, Lane::f64)));
    call.emit_map(e, {x, most, sums}, result);
  } else {
    e.apply(Operation::divide, e.input(0, Lane::f64), e.input(1, Lane::f64));
    call.emit_map(e, {powers, sums}, result);
  }
  return result;
}

template <bool is_log>
Unlowered lower_softmax(LowerCall& call) {
  if (call.since() < 13) return "an old version";
  const View x = call.input(0);
  if (x.rank() == 0 || x.size() == 0) return "without elements";
  const std::size_t axis = counted_axis(call.integer("axis", -1), x.rank());
  if (x.type == ElementType::float64) {
    call.set_output(0, wide_softmax<is_log>(call, x, axis));
    return std::nullopt;
  }
  const Dims order = order_with_last(x.rank(), axis);
  const View rows = call.contiguous(permuted(call.as_real(x), order));
  const View result = call.make(ElementType::float32, rows.dims);
  SoftmaxParameters parameters;
  parameters.is_log = is_log;
  call.emit(softmax_step, {rows}, {result}, parameters);
  call.set_output(0, permuted(result, inverse_order(order)));
  return std::nullopt;
}

/// With mean and reciprocal deviation as results; the root of the mean square counts as the deviation where nothing is subtracted.
template <bool centers>
Unlowered lower_layer_normalization_with_statistics(LowerCall& call) {
  if (!is_narrow_real(call.input_type(0)) || !is_narrow_real(call.output_type(0)))
    return "only for real numbers of 32 bits and less";
  const View x = call.as_real(call.input(0));
  if (x.size() == 0) return "without elements";
  const std::vector<bool> goes = last_axes(x.rank(), counted_axis(call.integer("axis", -1), x.rank()));
  const Statistics found = centers ? statistics_over(call, x, goes) : squares_over(call, x, goes);
  Expression inverse;
  const Number shifted = inverse.apply(Operation::add, inverse.input(0, Lane::f32),
                                       inverse.constant(Lane::f32, static_cast<double>(call.real("epsilon", 1e-5F))));
  inverse.apply(Operation::reciprocal, inverse.apply(Operation::square_root, shifted));
  const View factor = mapped(call, inverse, {found.variance}, ElementType::float32, found.variance.dims);
  Expression e;
  Number y = e.apply(Operation::multiply, e.input(0, Lane::f32), e.input(1, Lane::f32));
  std::vector<View> inputs = {found.centered, factor};
  for (std::size_t i = 1; i < call.input_count(); ++i) {
    if (!call.has_input(i)) continue;
    inputs.push_back(call.as_real(call.input(i)));
    y = e.apply(i == 1 ? Operation::multiply : Operation::add, y, e.input(inputs.size() - 1, Lane::f32));
  }
  call.set_output(0, mapped(call, e, std::move(inputs), ElementType::float32, x.dims));
  const auto give_statistic = [&](std::size_t output, const View& view) {
    if (call.has_output(output))
      call.set_output(output, stored_as(call, view, LowerCall::stored_type(call.output_type(output))));
  };
  if (centers) give_statistic(1, found.mean);
  give_statistic(centers ? 2 : 1, factor);
  return std::nullopt;
}

/// Whether scale and bias have a number for each of the elements that are normalized together, in their order.
bool scales_each_element(LowerCall& call) {
  const Dims& x = call.input_dims(0);
  const auto without_leading_ones = [](auto first, auto last) {
    return Dims(std::find_if(first, last, [](std::int64_t size) { return size != 1; }), last);
  };
  const auto axis = static_cast<std::ptrdiff_t>(counted_axis(call.integer("axis", -1), x.size()));
  const Dims normalized = without_leading_ones(x.begin() + axis, x.end());
  for (std::size_t i = 1; i < call.input_count(); ++i) {
    if (!call.has_input(i)) continue;
    const Dims& weight = call.input_dims(i);
    if (without_leading_ones(weight.begin(), weight.end()) != normalized) return false;
  }
  return true;
}

template <bool centers>
Unlowered lower_layer_normalization(LowerCall& call) {
  if (call.has_output(1) || call.has_output(2) || !scales_each_element(call))
    return lower_layer_normalization_with_statistics<centers>(call);
  if (!is_narrow_real(call.input_type(0)) || !is_narrow_real(call.output_type(0)))
    return "only for real numbers of 32 bits and less";
  View view = call.as_real(call.input(0));
  const std::size_t axis = counted_axis(call.integer("axis", -1), view.rank());
  const Dims inner(view.dims.begin() + static_cast<std::ptrdiff_t>(axis), view.dims.end());
  const std::int64_t columns = element_count(inner);
  if (view.size() == 0) return "without elements";
  const std::int64_t rows = view.size() / columns;
  std::vector<View> inputs = {reshaped(call.contiguous(view), {rows, columns})};
  for (std::size_t i = 1; i < call.input_count(); ++i) {
    if (!call.has_input(i)) continue;
    inputs.push_back(reshaped(call.contiguous(call.as_real(call.input(i))), {columns}));
  }
  NormalizeParameters parameters;
  parameters.centers = centers;
  parameters.epsilon = call.real("epsilon", 1e-5F);
  const View result = call.make(ElementType::float32, {rows, columns});
  call.emit(normalize_step, std::move(inputs), {result}, parameters);
  call.set_output(0, reshaped(result, view.dims));
  return std::nullopt;
}

/// scale * (x - mean) / sqrt(variance + epsilon) + bias, per channel.
Unlowered lower_batch_normalization(LowerCall& call) {
  if (call.has_output(1) || call.integer("training_mode") != 0) return "training";
  if (!is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  const View image = call.input(0);
  if (image.rank() < 2) return "without channels";
  std::vector<View> inputs = {image};
  Expression e;
  std::vector<Number> numbers = {e.input(0, Lane::f32)};
  for (std::size_t i = 1; i < 5; ++i) {
    const View weight = call.input(i);
    Dims dims(image.rank() - 1, 1);
    dims[0] = image.dims[1];
    inputs.push_back(reshaped(weight, dims));
    if (lane_of(weight.type) != Lane::f32) return "weights of another type";
    numbers.push_back(e.input(i, Lane::f32));
  }
  const Number deviation = e.apply(
      Operation::square_root, e.apply(Operation::add, numbers[4], e.constant(Lane::f32, call.real("epsilon", 1e-5F))));
  const Number factor = e.apply(Operation::divide, numbers[1], deviation);
  const Number centered = e.apply(Operation::subtract, numbers[0], numbers[3]);
  e.apply(Operation::add, e.apply(Operation::multiply, centered, factor), numbers[2]);
  const View output = image.is_dense() ? call.make_output_like(0, image) : call.make_output(0);
  call.emit_map(e, std::move(inputs), output);
  return std::nullopt;
}

}  // namespace

void register_normalization(LoweringRegistry& registry);
void register_normalization(LoweringRegistry& registry) {
  registry.add("Softmax", all_versions(), lower_softmax<false>);
  registry.add("LogSoftmax", all_versions(), lower_softmax<true>);
  registry.add("LayerNormalization", all_versions(), lower_layer_normalization<true>);
  for (const char* op : {"RMSNormalization", "SimplifiedLayerNormalization"})
    registry.add(op, all_versions(), lower_layer_normalization<false>);
  registry.add("BatchNormalization", since(9), lower_batch_normalization);
}

}  // namespace onnxkit::plan
