#include <algorithm>
#include <cmath>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/integers.h"

// Operators on quantized tensors. Products of bytes and constant weights are steps over integers. Others are sums in float32, cut where a sum might reach 2^24, up to which float32 counts
// exactly; the parts are added as integers. So results are those of integer arithmetic, from the kernels for float32.
namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

bool is_byte(ElementType type) { return type == ElementType::int8 || type == ElementType::uint8; }
bool is_quantized_integer(ElementType type) {
  return is_byte(type) || type == ElementType::int16 || type == ElementType::uint16;
}

/// A scale or zero point so that it broadcasts against x; nothing when its sizes do not fit.
std::optional<View> spread(LowerCall& call, std::size_t input) {
  const View given = call.input(input);
  const Dims x = call.input_dims(0);
  const std::int64_t block = call.integer("block_size");
  if (given.size() == 1 && given.rank() <= 1 && block == 0) return reshaped_or_copied(call, given, {});
  const std::size_t axis = x.size() == 1 ? 0 : counted_axis(call.integer("axis", 1), x.size());
  if (axis >= x.size()) return std::nullopt;
  if (block == 0) {
    if (given.rank() != 1 || given.size() != x[axis]) return std::nullopt;
    return reshaped_or_copied(call, given, [&] {
      Dims dims(x.size(), 1);
      dims[axis] = x[axis];
      return dims;
    }());
  }
  Dims expected = x;
  expected[axis] = block > 0 ? x[axis] / block + (x[axis] % block != 0) : 0;
  if (given.dims != expected || given.size() == 0) return std::nullopt;
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < x[axis]; ++i) positions.push_back(i / block);
  return taken(call, given, axis, positions);
}

/// The number rounded, with the zero point added and kept in the range of the type; NaN counts as 0.
Number saturated(Expression& e, Number quotient, std::optional<Number> zero, ElementType type) {
  const Lane lane = e.lane(quotient);
  Number whole = e.apply(Operation::round_half_even, quotient);
  whole = e.apply(Operation::select, e.apply(Operation::is_nan, whole), e.constant(lane, 0), whole);
  if (zero) whole = e.apply(Operation::add, whole, e.convert(*zero, lane));
  whole = e.apply(Operation::maximum, whole, e.constant(lane, static_cast<double>(least_of(type))));
  whole = e.apply(Operation::minimum, whole, e.constant(lane, static_cast<double>(greatest_of(type))));
  return e.convert(whole, Lane::i64);
}

Unlowered lower_quantize_linear(LowerCall& call) {
  const ElementType type = call.output_type(0), scale_type = call.input_type(1);
  if (!is_quantized_integer(type)) return "to another type than integers of 8 and 16 bits";
  if (!has_lane(call.input_type(0)) || !has_lane(scale_type)) return "elements cannot be computed";
  ElementType precision = scale_type;
  if (const std::int64_t stated = call.integer("precision"); stated != 0) precision = static_cast<ElementType>(stated);
  if (!is_narrow_real(precision) && precision != ElementType::float64 && has_lane(precision))
    precision = ElementType::float64;  // integers are divided as reals
  if (!has_lane(precision)) return "computed in a type without kernels";
  const Lane lane = lane_of(precision);
  const View x = call.input(0);
  const auto scale = spread(call, 1);
  if (!scale) return "scales of other sizes";
  std::vector<View> inputs = {x, *scale};
  Expression e;
  const bool is_rounded = precision == ElementType::float16 || precision == ElementType::bfloat16;
  const auto narrow = [&](Number number) {
    return is_rounded ? e.round_to(number, precision) : lane == Lane::f32 ? e.as_float32(number) : number;
  };
  const Number value = narrow(e.convert(e.input(0, lane_of(x.type)), lane));
  const Number by = narrow(e.convert(e.input(1, lane_of(scale->type)), lane));
  const Number quotient = narrow(e.apply(Operation::divide, value, by));
  std::optional<Number> zero;
  if (call.has_input(2)) {
    const auto view = spread(call, 2);
    if (!view) return "zero points of other sizes";
    inputs.push_back(*view);
    zero = e.input(2, Lane::i64);
  }
  saturated(e, quotient, zero, type);
  const View output = x.is_dense() ? call.make_output_like(0, x) : call.make_output(0);
  call.emit_map(e, std::move(inputs), output);
  return std::nullopt;
}

Unlowered lower_dequantize_linear(LowerCall& call) {
  if (!has_lane(call.input_type(0)) || !has_lane(call.input_type(1)) || !has_lane(call.output_type(0)))
    return "elements cannot be computed";
  const View x = call.input(0);
  const auto scale = spread(call, 1);
  if (!scale) return "scales of other sizes";
  std::vector<View> inputs = {x, *scale};
  Expression e;
  Number value = e.input(0, lane_of(x.type));
  const Lane lane = lane_of(call.output_type(0));
  const Number by = e.convert(e.input(1, lane_of(scale->type)), lane);
  if (call.has_input(2)) {
    const auto zero = spread(call, 2);
    if (!zero) return "zero points of other sizes";
    inputs.push_back(*zero);
    value = e.apply(Operation::subtract, value, e.convert(e.input(2, lane_of(zero->type)), e.lane(value)));
  }
  e.apply(Operation::multiply, e.convert(value, lane), by);
  const View output = x.is_dense() ? call.make_output_like(0, x) : call.make_output(0);
  call.emit_map(e, std::move(inputs), output);
  return std::nullopt;
}

Unlowered lower_dynamic_quantize(LowerCall& call) {
  const View x = call.input(0);
  if (x.size() == 0) return "without elements";
  const std::vector<bool> all(x.rank(), true);
  const View least = reduced(call, Reduction::minimum, x, all), most = reduced(call, Reduction::maximum, x, all);
  Expression range;
  const auto bounded = [](Expression& e, Operation operation, std::size_t input) {
    return e.apply(operation, e.input(input, Lane::f32), e.constant(Lane::f32, 0));
  };
  const Number low = bounded(range, Operation::minimum, 0), high = bounded(range, Operation::maximum, 1);
  const Number length = range.as_float32(range.apply(Operation::subtract, high, low));
  const Number quotient = range.as_float32(range.apply(Operation::divide, length, range.constant(Lane::f32, 255)));
  const Number is_flat = range.apply(Operation::equal, low, high), one = range.constant(Lane::f32, 1);
  range.apply(Operation::select, is_flat, one, quotient);
  const View scale = mapped(call, range, {least, most}, ElementType::float32, {});
  Expression zero_of;
  const Number start = bounded(zero_of, Operation::minimum, 0);
  const Number steps =
      zero_of.apply(Operation::divide, zero_of.apply(Operation::negate, start), zero_of.input(1, Lane::f32));
  saturated(zero_of, zero_of.as_float32(steps), std::nullopt, ElementType::uint8);
  const View zero = mapped(call, zero_of, {least, scale}, ElementType::uint8, {});
  Expression e;
  const Number divided = e.as_float32(e.apply(Operation::divide, e.input(0, Lane::f32), e.input(1, Lane::f32)));
  saturated(e, divided, e.input(2, Lane::i64), ElementType::uint8);
  const View output = x.is_dense() ? call.make_output_like(0, x) : call.make_output(0);
  call.emit_map(e, {x, scale, zero}, output);
  call.set_output(1, scale);
  call.set_output(2, zero);
  return std::nullopt;
}

// ---- products

constexpr double exact_up_to = 16777216;  // 2^24
constexpr double greatest_byte = 255;     // of a byte without its zero point

/// A zero point that broadcasts against a matrix: one element, or one for each row or column.
std::optional<View> zero_of_matrix(LowerCall& call, std::size_t input, const View& matrix, bool is_left) {
  const View zero = call.input(input);
  if (zero.size() == 1) return reshaped_or_copied(call, zero, {});
  if (zero.rank() != 1) return zero.rank() == matrix.rank() ? std::optional(zero) : std::nullopt;
  const std::int64_t lines = matrix.rank() < 2 ? 1 : matrix.dims[matrix.rank() - (is_left ? 2 : 1)];
  if (zero.size() != lines) return std::nullopt;
  return reshaped_or_copied(call, zero, is_left ? Dims{lines, 1} : Dims{lines});
}

/// x minus its zero point, as float32.
std::optional<View> centered(LowerCall& call, std::size_t input, std::size_t zero_input, bool is_left) {
  const View x = call.input(input);
  Expression e;
  Number value = e.input(0, Lane::i64);
  std::vector<View> inputs = {x};
  if (call.has_input(zero_input)) {
    const auto zero = zero_of_matrix(call, zero_input, x, is_left);
    if (!zero) return std::nullopt;
    inputs.push_back(*zero);
    value = e.apply(Operation::subtract, value, e.input(1, Lane::i64));
  }
  e.convert(value, Lane::f32);
  const View result =
      x.is_dense() ? call.make_like(ElementType::float32, x.dims, x) : call.make(ElementType::float32, x.dims);
  call.emit_map(e, std::move(inputs), result);
  return result;
}

/// The same of a constant with a constant zero point, [rows, columns] with one zero point for each of either or for all; nothing for others.
std::optional<std::vector<float>> constant_centered(LowerCall& call, std::size_t input, std::size_t zero_input,
                                                    std::int64_t rows, std::int64_t columns, bool zero_by_row) {
  const auto numbers = call.constant_reals(input);
  if (!numbers) return std::nullopt;
  std::vector<double> zero = {0};
  if (call.has_input(zero_input)) {
    const auto stated = call.constant_reals(zero_input);
    if (!stated || (stated->size() != 1 && static_cast<std::int64_t>(stated->size()) != (zero_by_row ? rows : columns)))
      return std::nullopt;
    zero = *stated;
  }
  std::vector<float> result(numbers->size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto line = static_cast<std::size_t>(zero_by_row ? at / columns : at % columns);
    result[i] = static_cast<float>((*numbers)[i] - zero[zero.size() == 1 ? 0 : line]);
  }
  return result;
}

/// Ends of parts of k of which no sum reaches 2^24; weights [k, n] when they are known. `step` weights stay together.
std::optional<Dims> exact_parts(std::int64_t k, std::int64_t n, const std::vector<float>* weights) {
  Dims ends;
  if (!weights) {
    const auto most = static_cast<std::int64_t>(exact_up_to / (greatest_byte * greatest_byte));
    for (std::int64_t at = most; at < k; at += most) ends.push_back(at);
    ends.push_back(k);
    return ends;
  }
  std::vector<double> sums(static_cast<std::size_t>(n), 0);
  for (std::int64_t row = 0; row < k; ++row) {
    const float* const from = weights->data() + row * n;
    bool fits = true;
    for (std::int64_t j = 0; j < n && fits; ++j)
      fits = sums[static_cast<std::size_t>(j)] + std::abs(from[j]) * greatest_byte <= exact_up_to;
    if (!fits) {
      if (row == 0 || (!ends.empty() && ends.back() == row)) return std::nullopt;
      ends.push_back(row);
      std::fill(sums.begin(), sums.end(), 0);
    }
    for (std::int64_t j = 0; j < n; ++j) sums[static_cast<std::size_t>(j)] += std::abs(from[j]) * greatest_byte;
  }
  ends.push_back(k);
  return ends;
}

/// The sum of float32 parts that hold integers, in the lane.
Number integer_sum(Expression& e, std::size_t parts, Lane lane) {
  Number sum = e.convert(e.input(0, Lane::f32), lane);
  for (std::size_t i = 1; i < parts; ++i) sum = e.apply(Operation::add, sum, e.convert(e.input(i, Lane::f32), lane));
  return sum;
}

/// Parts that one map can add; the rest are added before, as int64 where they are many.
constexpr std::size_t most_parts = 24;

struct Parts {
  std::vector<View> views;
  std::string refused;
};

constexpr std::int64_t columns_first[] = {1, 0};

/// Weights [k, n] of those that lie as [n, k].
std::vector<float> turned(const std::vector<float>& weights, std::int64_t k, std::int64_t n) {
  std::vector<float> result(weights.size());
  for (std::int64_t i = 0; i < k * n; ++i)
    result[static_cast<std::size_t>(i)] = weights[static_cast<std::size_t>(i % n * k + i / n)];
  return result;
}

/// Products of inputs a and b without their zero points, whose sum is the product.
Parts product_parts(LowerCall& call, const IntegerInputs& inputs) {
  const std::size_t a_input = inputs.x, b_input = inputs.weights, b_zero = inputs.weight_zero;
  if (!is_byte(call.input_type(a_input)) || !is_byte(call.input_type(b_input)))
    return {{}, "factors of more than 8 bits"};
  const Dims out = call.output_dims(0);
  if (element_count(out) == 0 || call.input(a_input).size() == 0) return {{}, "without elements"};
  if (call.input(a_input).rank() == 0 || call.input(b_input).rank() == 0) return {{}, "a scalar"};
  auto a = centered(call, a_input, inputs.x_zero, true);
  if (!a) return {{}, "zero points of other sizes"};
  if (inputs.turns_x) a = permuted(*a, columns_first);
  const Dims b_dims = call.input_dims(b_input);
  const std::int64_t k = a->dims.back();
  std::optional<std::vector<float>> weights;
  std::optional<View> b;
  const bool turns = inputs.turns_weights;
  const std::int64_t n = b_dims.size() == 2 ? b_dims[turns ? 0 : 1] : 0;
  if (b_dims.size() == 2) weights = constant_centered(call, b_input, b_zero, turns ? n : k, turns ? k : n, turns);
  if (weights && turns) weights = turned(*weights, k, n);
  if (!weights) b = centered(call, b_input, b_zero, turns);
  if (!weights && !b) return {{}, "zero points of other sizes"};
  if (b && turns) b = permuted(*b, columns_first);
  const auto ends = exact_parts(k, n, weights ? &*weights : nullptr);
  if (!ends || ends->size() > most_parts) return {{}, "sums that float32 cannot hold in few parts"};
  Parts parts;
  std::int64_t start = 0;
  for (const std::int64_t end : *ends) {
    const View left = sliced(*a, a->rank() - 1, start, 1, end - start);
    View right;
    if (weights) {
      right = call.constant(
          std::span(*weights).subspan(static_cast<std::size_t>(start * n), static_cast<std::size_t>((end - start) * n)),
          {end - start, n});
    } else {
      right = sliced(*b, b->rank() < 2 ? 0 : b->rank() - 2, start, 1, end - start);
    }
    parts.views.push_back(matrix_product(call, left, right, out));
    start = end;
  }
  return parts;
}

Unlowered matmul_in_parts(LowerCall& call) {
  Parts parts = product_parts(call, {});
  if (!parts.refused.empty()) return parts.refused;
  Expression e;
  e.round_to(integer_sum(e, parts.views.size(), Lane::i64), ElementType::int32);
  call.emit_map(e, std::move(parts.views), call.make_output(0));
  return std::nullopt;
}

Unlowered lower_matmul_integer(LowerCall& call) {
  if (const auto sums = multiplied_integers(call, {}, std::nullopt, ElementType::int32); sums) {
    call.set_output(0, *sums);
    return std::nullopt;
  }
  return matmul_in_parts(call);
}

Unlowered lower_qlinear_matmul(LowerCall& call) {
  const ElementType type = call.output_type(0);
  if (!is_quantized_integer(type)) return "to another type than integers of 8 and 16 bits";
  if (call.input_dims(0).size() < 2 || call.input_dims(3).size() < 2) return "a vector";
  const IntegerInputs operands{.x = 0, .weights = 3, .x_zero = 2, .weight_zero = 5};
  if (auto to_bytes = requantization_of(call, 1, 4, 6, 7, type)) {
    if (const auto made = multiplied_integers(call, operands, std::move(to_bytes), type)) {
      call.set_output(0, *made);
      return std::nullopt;
    }
  }
  Parts parts = product_parts(call, operands);
  if (!parts.refused.empty()) return parts.refused;
  Expression e;
  const Number sum = integer_sum(e, parts.views.size(), Lane::f64);
  std::vector<View> inputs = std::move(parts.views);
  const auto scale = [&](std::size_t input, std::optional<View> view) -> std::optional<Number> {
    if (!view) return std::nullopt;
    inputs.push_back(*view);
    return e.convert(e.input(inputs.size() - 1, lane_of(call.input(input).type)), Lane::f64);
  };
  const auto a = scale(1, zero_of_matrix(call, 1, call.input(0), true));
  const auto b = scale(4, zero_of_matrix(call, 4, call.input(3), false));
  const auto by = scale(6, reshaped_or_copied(call, call.input(6), {}));
  if (!a || !b || !by || call.input(7).size() != 1) return "scales of other sizes";
  inputs.push_back(reshaped_or_copied(call, call.input(7), {}));
  const Number zero = e.input(inputs.size() - 1, Lane::i64);
  const Number scaled = e.apply(Operation::multiply, sum, e.apply(Operation::multiply, *a, *b));
  saturated(e, e.apply(Operation::divide, scaled, *by), zero, type);
  call.emit_map(e, std::move(inputs), call.make_output(0));
  return std::nullopt;
}

/// What com.microsoft's QGemm makes of sums of integers: alpha * a_scale * b_scale * (sums + C), which may be quantized.
Unlowered scale_sums(LowerCall& call, std::vector<View> sums, bool has_bias) {
  const ElementType type = call.output_type(0);
  const Dims out = call.output_dims(0);
  Expression e;
  Number sum = sums[0].type == ElementType::float32 ? integer_sum(e, sums.size(), Lane::f64)
                                                    : e.convert(e.input(0, lane_of(sums[0].type)), Lane::f64);
  std::vector<View> inputs = std::move(sums);
  const auto next = [&](const View& view) {
    inputs.push_back(view);
    return e.convert(e.input(inputs.size() - 1, lane_of(view.type)), Lane::f64);
  };
  const auto by_column = [&](std::size_t input) {
    const View view = call.input(input);
    return reshaped_or_copied(call, view, view.size() == 1 ? Dims() : Dims{view.size()});
  };
  const View b_scale = by_column(4);
  if (call.input(1).size() != 1 || (b_scale.rank() == 1 && b_scale.dims[0] != out[1])) return "scales of other sizes";
  if (has_bias) sum = e.apply(Operation::add, sum, next(call.input(6)));
  const Number of_a = next(by_column(1)), of_b = next(b_scale);
  Number factor = e.apply(Operation::multiply, of_a, of_b);
  if (const float alpha = call.real("alpha", 1); alpha != 1)
    factor = e.apply(Operation::multiply, e.constant(Lane::f64, static_cast<double>(alpha)), factor);
  const Number scaled = e.apply(Operation::multiply, sum, factor);
  if (type == ElementType::float32) {
    e.convert(scaled, Lane::f32);
  } else {
    if (call.input(7).size() != 1 || call.input(8).size() != 1) return "scales of other sizes";
    const Number divisor = next(by_column(7)), zero = next(by_column(8));
    saturated(e, e.apply(Operation::divide, scaled, divisor), zero, type);
  }
  call.emit_map(e, std::move(inputs), call.make_output(0));
  return std::nullopt;
}

/// Whether C repeats to the sizes of the result.
bool broadcasts(const Dims& c, const Dims& out) {
  if (c.size() > out.size()) return false;
  for (std::size_t i = 1; i <= c.size(); ++i) {
    if (c[c.size() - i] != 1 && c[c.size() - i] != out[out.size() - i]) return false;
  }
  return true;
}

Unlowered lower_qgemm(LowerCall& call) {
  const ElementType type = call.output_type(0);
  const bool is_quantized = call.has_input(8), has_bias = call.has_input(6);
  if (call.has_input(7) != is_quantized || (type == ElementType::float32) == is_quantized)
    return "a scale or a zero point without the other";
  if (call.input_dims(0).size() != 2 || call.input_dims(3).size() != 2) return "no matrices";
  if (has_bias && !broadcasts(call.input_dims(6), call.output_dims(0))) return "the sizes do not fit";
  IntegerInputs inputs{.x = 0, .weights = 3, .x_zero = 2, .weight_zero = 5};
  inputs.turns_x = call.integer("transA") != 0;
  inputs.turns_weights = call.integer("transB") != 0;
  IntegerInputs with_bias = inputs;
  if (has_bias) with_bias.bias = 6;
  const auto alpha = static_cast<double>(call.real("alpha", 1));
  if (auto to_bytes = is_quantized ? requantization_of(call, 1, 4, 7, 8, type, alpha) : std::nullopt) {
    if (const auto made = multiplied_integers(call, with_bias, std::move(to_bytes), type)) {
      call.set_output(0, *made);
      return std::nullopt;
    }
  }
  if (const auto sums = multiplied_integers(call, with_bias, std::nullopt, ElementType::int32))
    return scale_sums(call, {*sums}, false);
  Parts parts = product_parts(call, inputs);
  if (!parts.refused.empty()) return parts.refused;
  return scale_sums(call, std::move(parts.views), has_bias);
}

// ---- convolutions

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
    ConvolutionParameters own;
    own.groups = parameters.groups;
    own.strides = parameters.strides;
    own.dilations = parameters.dilations;
    own.pads = parameters.pads;
    call.emit(convolution_step, {part, call.constant(channels_of(filter, start, end), dims)}, {output}, std::move(own));
    View sum = output;
    if (is_line) {
      sum.dims.erase(sum.dims.begin() + 2);
      sum.strides.erase(sum.strides.begin() + 2);
    }
    parts.views.push_back(sum);
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
  e.round_to(integer_sum(e, parts.views.size(), Lane::i64), ElementType::int32);
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
  Number sum = integer_sum(e, parts.views.size(), Lane::f64);
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

void register_quantized(LoweringRegistry& registry);
void register_quantized(LoweringRegistry& registry) {
  registry.add("QuantizeLinear", all_versions(), lower_quantize_linear);
  registry.add("DequantizeLinear", all_versions(), lower_dequantize_linear);
  registry.add("DynamicQuantizeLinear", all_versions(), lower_dynamic_quantize);
  registry.add("MatMulInteger", all_versions(), lower_matmul_integer);
  registry.add("QLinearMatMul", all_versions(), lower_qlinear_matmul);
  registry.add("com.microsoft", "QGemm", all_versions(), lower_qgemm);
  registry.add("ConvInteger", all_versions(), lower_conv_integer);
  registry.add("QLinearConv", all_versions(), lower_qlinear_conv);
}

}  // namespace onnxkit::plan
