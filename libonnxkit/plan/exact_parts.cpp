#include "libonnxkit/plan/exact_parts.h"

#include <algorithm>
#include <cmath>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {

std::optional<View> zero_of_matrix(LowerCall& call, std::size_t input, const View& matrix, bool is_left) {
  const View zero = call.input(input);
  if (zero.size() == 1) return reshaped_or_copied(call, zero, {});
  if (zero.rank() != 1) return zero.rank() == matrix.rank() ? std::optional(zero) : std::nullopt;
  const std::int64_t lines = matrix.rank() < 2 ? 1 : matrix.dims[matrix.rank() - (is_left ? 2 : 1)];
  if (zero.size() != lines) return std::nullopt;
  return reshaped_or_copied(call, zero, is_left ? Dims{lines, 1} : Dims{lines});
}

std::optional<View> centered(LowerCall& call, std::size_t input, std::size_t zero_input, bool is_left) {
  const View x = call.input(input);
  Expression e;
  Expression::Number value = e.input(0, Lane::i64);
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

namespace {

/// Ends of parts of k of which no sum reaches 2^24; weights [k, n] when they are known.
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

constexpr std::int64_t columns_first[] = {1, 0};

/// Weights [k, n] of those that lie as [n, k].
std::vector<float> turned(const std::vector<float>& weights, std::int64_t k, std::int64_t n) {
  std::vector<float> result(weights.size());
  for (std::int64_t i = 0; i < k * n; ++i)
    result[static_cast<std::size_t>(i)] = weights[static_cast<std::size_t>(i % n * k + i / n)];
  return result;
}

}  // namespace

Parts product_parts(LowerCall& call, const IntegerInputs& inputs) {
  const std::size_t a_input = inputs.x, b_input = inputs.weights, b_zero = inputs.weight_zero;
  if (!is_byte(call.input_type(a_input)) || !is_byte(call.input_type(b_input)))
    return {{}, "factors of more than 8 bits"};
  const Dims out = inputs.result ? *inputs.result : call.output_dims(0);
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
  ProductParameters parameters;
  parameters.has_exact_sums = true;
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
    parts.views.push_back(matrix_product(call, left, right, out, parameters));
    start = end;
  }
  return parts;
}

Parts summed_products(LowerCall& call, const IntegerInputs& inputs) {
  if (const auto sums = multiplied_integers(call, inputs, std::nullopt, ElementType::int32)) return {{*sums}, {}};
  return product_parts(call, inputs);
}

Expression::Number integer_sum(Expression& e, std::span<const View> parts, Lane lane) {
  const auto part = [&](std::size_t i) { return e.convert(e.input(i, lane_of(parts[i].type)), lane); };
  Expression::Number sum = part(0);
  for (std::size_t i = 1; i < parts.size(); ++i) sum = e.apply(Operation::add, sum, part(i));
  return sum;
}

}  // namespace onnxkit::plan
