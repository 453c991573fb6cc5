#include "reference/noise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "libonnxkit/base/dtype.h"
#include "libonnxkit/base/rounding.h"
#include "reference/wide.h"

namespace onnxkit::reference {
namespace {

constexpr int significand_bits = 53;
constexpr int few_bits = 12;
constexpr std::int64_t errors_of_a_chunk = 1 << 14;

/// splitmix64: one step of a counter gives 64 well mixed bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Of [-1, 1).
double uniform(std::uint64_t bits) { return static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63; }

/// Nearly normal with variance 1: the sum of four uniform numbers.
double normal(std::uint64_t bits) {
  const std::uint64_t sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
  constexpr double mean = 2.0 * 65535, deviation = 37837.2;  // sqrt(4 / 12) * 65536
  return (static_cast<double>(sum) - mean) / deviation;
}

/// Has at most `bits` significant bits.
bool fits(double x, int bits) {
  return (std::bit_cast<std::uint64_t>(x) & ((std::uint64_t{1} << (significand_bits - bits)) - 1)) == 0;
}

int bits_of(double unit) { return -std::ilogb(unit); }

/// The elements of a matrix with errors of half a unit, in rows.
std::vector<double> rounded_operand(MatrixView<const double> x, double unit, std::uint64_t key) {
  std::vector<double> copy(static_cast<std::size_t>(x.rows * x.columns));
  const int bits = bits_of(unit);
  std::size_t at = 0;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t c = 0; c < x.columns; ++c, ++at) {
      const double value = x.data[r * x.row_stride + c * x.column_stride];
      copy[at] = fits(value, bits) ? value : value * (1 + unit * uniform(mix(key + at)));
    }
  }
  return copy;
}

std::vector<double> squares_of_rows(MatrixView<const double> x) {
  std::vector<double> sums(static_cast<std::size_t>(x.rows));
  const auto add = [&](std::int64_t r, std::int64_t c) {
    const double value = x.data[r * x.row_stride + c * x.column_stride];
    sums[static_cast<std::size_t>(r)] += value * value;
  };
  if (x.column_stride <= x.row_stride) {
    for (std::int64_t r = 0; r < x.rows; ++r)
      for (std::int64_t c = 0; c < x.columns; ++c) add(r, c);
  } else {
    for (std::int64_t c = 0; c < x.columns; ++c)
      for (std::int64_t r = 0; r < x.rows; ++r) add(r, c);
  }
  return sums;
}

/// Tells products apart that run in parallel within one node.
std::uint64_t fingerprint(MatrixView<const double> x) {
  if (x.rows == 0 || x.columns == 0) return 0;
  const std::int64_t last = (x.rows - 1) * x.row_stride + (x.columns - 1) * x.column_stride;
  return mix(std::bit_cast<std::uint64_t>(x.data[0])) ^ mix(std::bit_cast<std::uint64_t>(x.data[last]) + 1) ^
         mix(std::bit_cast<std::uint64_t>(x.data[(x.rows / 2) * x.row_stride + (x.columns / 2) * x.column_stride]) + 2);
}

/// A relative error of standard deviation `scale` in each number of more than `bits` significant bits.
void add_errors(ThreadPool& threads, std::span<double> numbers, std::uint64_t key, double scale, int bits) {
  threads.for_range(static_cast<std::int64_t>(numbers.size()), errors_of_a_chunk,
                    [&](std::int64_t first, std::int64_t last) {
                      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
                        double& x = numbers[i];
                        if (!fits(x, bits)) x += x * scale * normal(mix(key + i + 1));
                      }
                    });
}

std::int64_t terms_of(NoiseRule::Length length, const Tensor& results, const Tensor* input) {
  switch (length) {
    case NoiseRule::Length::reduced:
      return input && results.size() > 0 ? std::max<std::int64_t>(1, input->size() / results.size()) : 1;
    case NoiseRule::Length::last_axis:
      return results.rank() > 0 ? results.dims().back() : 1;
    case NoiseRule::Length::image: {
      std::int64_t count = 1;
      for (std::int64_t axis = 2; axis < results.rank(); ++axis) count *= results.dim(axis);
      return count;
    }
    case NoiseRule::Length::one:
      return 1;
  }
  return 1;
}

}  // namespace

Arithmetic arithmetic_of(Profile profile) {
  constexpr double float32 = 0x1p-24, float16 = 0x1p-11, bfloat16 = 0x1p-8;
  switch (profile) {
    case Profile::float32:
      return {.sums = float32, .operands = 0, .results = float32, .steps = false};
    case Profile::tf32:
      return {.sums = float32, .operands = float16, .results = float32, .steps = false};
    case Profile::float16:
      return {.sums = float32, .operands = float16, .results = float16, .steps = false};
    case Profile::bfloat16:
      return {.sums = float32, .operands = bfloat16, .results = bfloat16, .steps = false};
    case Profile::int8:
      return {.sums = float32, .operands = 0x1p-8, .results = float32, .steps = true};
  }
  return {.sums = float32, .operands = 0, .results = float32, .steps = false};
}

void Noise::multiply(ThreadPool& threads, MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c,
                     bool accumulate) const {
  const std::uint64_t key = mix(mix(seed_) + nodes_) ^ fingerprint(a) ^ (fingerprint(b) << 1);
  std::vector<double> left, right;
  if (arithmetic_.operands > 0) {
    left = rounded_operand(a, arithmetic_.operands, mix(key + 1));
    right = rounded_operand(b, arithmetic_.operands, mix(key + 2));
    a = row_major<const double>(left.data(), a.rows, a.columns);
    b = row_major<const double>(right.data(), b.rows, b.columns);
  }
  gemm(threads, a, b, c, accumulate);

  const auto n = static_cast<double>(a.columns);
  if (a.columns == 0) return;
  const double unit = arithmetic_.sums * deviation_of_uniform;
  const int bits = bits_of(arithmetic_.sums);
  const std::vector<double> rows = squares_of_rows(a), columns = squares_of_rows(b.transposed());
  const std::int64_t grain = std::max<std::int64_t>(1, errors_of_a_chunk / std::max<std::int64_t>(1, c.columns));
  threads.for_range(c.rows, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::uint64_t row_key = mix(key + 3 + static_cast<std::uint64_t>(i));
      const double squares = rows[static_cast<std::size_t>(i)] / 6;  // n/6 (sum a^2)(sum b^2)/n
      double* at = c.data + i * c.row_stride;
      for (std::int64_t j = 0; j < c.columns; ++j, at += c.column_stride) {
        const double y = *at;
        if (fits(y, bits)) continue;
        const double variance = n / 3 * y * y + squares * columns[static_cast<std::size_t>(j)];
        *at = y + normal(mix(row_key + static_cast<std::uint64_t>(j))) * unit * std::sqrt(variance);
      }
    }
  });
}

void Noise::round_results(ThreadPool& threads, Tensor& results, const NoiseRule& rule,
                          const Tensor* first_input) const {
  const double unit = std::max(arithmetic_.results, unit_roundoff(results.type()));
  const bool is_coarse = unit > arithmetic_.sums;
  if (rule.results == 0 && !(rule.is_product && is_coarse)) return;
  const double terms = static_cast<double>(terms_of(rule.length, results, first_input));
  // The summation itself works in the precision of sums; only what is stored is as coarse as results are.
  const double inner = std::max(arithmetic_.sums, 0x1p-24) * (rule.results + (terms > 1 ? std::sqrt(terms) / 3 : 0));
  const double scale = deviation_of_uniform * std::hypot(inner, unit);
  const int bits = bits_of(unit);
  const std::uint64_t key = mix(mix(seed_ + 1) + nodes_);
  add_errors(threads, results.write<double>(), key, scale, bits);
}

Tensor Noise::disturbed(ThreadPool& threads, const Tensor& input, double roundings) const {
  Tensor copy = input;
  const double scale = roundings * arithmetic_.sums * deviation_of_uniform;
  add_errors(threads, copy.write<double>(), mix(mix(seed_ + 2) + nodes_), scale, few_bits);
  return copy;
}

double Noise::error(std::uint64_t key) const {
  return arithmetic_.sums * deviation_of_uniform * normal(mix(mix(mix(seed_ + 4) + nodes_) + key));
}

double Noise::position(double exact, std::uint64_t key) const {
  return fits(exact, bits_of(arithmetic_.sums)) ? exact : exact + error(2 * key) * (std::abs(exact) + 1);
}

double Noise::weight(double exact, std::uint64_t key) const {
  // The terms of a cubic filter are a few times larger than their sum.
  constexpr double terms = 4;
  return fits(exact, few_bits) ? exact : exact + terms * error(2 * key + 1);
}

void Noise::shift_steps(Tensor& quantized) const {
  std::uint64_t at = mix(mix(seed_ + 3) + nodes_);
  const auto shift = [&](auto& element, std::int64_t least, std::int64_t greatest) {
    const std::uint64_t draw = mix(++at) >> 61;  // of eight, two are a step
    const auto value = static_cast<std::int64_t>(element);
    if (draw == 0 && value < greatest) ++element;
    if (draw == 1 && value > least) --element;
  };
  const std::int64_t least = least_of(quantized.type()), greatest = greatest_of(quantized.type());
  if (quantized.domain() == Domain::integer) {
    for (std::int64_t& element : quantized.write<std::int64_t>()) shift(element, least, greatest);
  } else {
    for (std::uint64_t& element : quantized.write<std::uint64_t>()) shift(element, least, greatest);
  }
}

}  // namespace onnxkit::reference
