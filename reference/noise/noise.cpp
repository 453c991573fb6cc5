#include "reference/noise/noise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/rounding.h"
#include "reference/noise/draws.h"
#include "reference/noise/noise_kernel.h"
#include "reference/numerics/instruction_sets.h"
#include "reference/numerics/unrounded.h"

namespace onnxkit::reference {
namespace {

constexpr int few_bits = 12;
// NNPACK's tiles of 6x6 outputs are up to 9.5 times off in the mean, 102 / 12 times at most (scripts/winograd_errors.py).
constexpr double winograd_growth = 10;
constexpr std::int64_t errors_of_a_chunk = 1 << 14;

const NoiseKernel& kernel() {
  static const NoiseKernel& best = *usable_noise_kernels().front();
  return best;
}

/// Has at most `bits` significant bits.
bool fits(double x, int bits) { return (std::bit_cast<std::uint64_t>(x) & bits_beyond(bits)) == 0; }

double normal(std::uint64_t bits) { return normal_steps(bits) / normal_deviation; }

/// How many significant bits a number may have that counts as exact. Doubles that were rounded have more than 40, but for one of thousands.
int bits_of(double unit) { return std::min(40, -std::ilogb(unit)); }

/// Chunks of so many lines of a length are worth a thread's while.
std::int64_t lines_of_a_chunk(std::int64_t length) {
  return std::max<std::int64_t>(1, errors_of_a_chunk / std::max<std::int64_t>(1, length));
}

/// The elements of a matrix with errors of half a unit, in rows.
std::unique_ptr<double[]> rounded_operand(ThreadPool& threads, MatrixView<const double> x, double unit, int bits,
                                          std::uint64_t key) {
  auto copy = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(x.rows * x.columns));
  threads.for_range(x.rows, lines_of_a_chunk(x.columns), [&](std::int64_t first, std::int64_t last) {
    double* to = copy.get() + first * x.columns;
    for (std::int64_t r = first; r < last; ++r) {
      const double* const row = x.data + r * x.row_stride;
      for (std::int64_t c = 0; c < x.columns; ++c) *to++ = row[c * x.column_stride];
    }
    kernel().round_operands(copy.get() + first * x.columns, (last - first) * x.columns,
                            key + static_cast<std::uint64_t>(first * x.columns), unit, bits_beyond(bits));
  });
  return copy;
}

/// Numbers of float8e4m3fn over a power of two for each row, which puts the greatest between 224 and 448: what is below the least normal number then
/// has the errors of that number.
void add_errors_of_small(ThreadPool& threads, double* rows, std::int64_t count, std::int64_t length, double unit,
                         std::uint64_t key) {
  constexpr double least_normal = 0x1p-6 / 224;
  threads.for_range(count, lines_of_a_chunk(length), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      const std::span row(rows + r * length, static_cast<std::size_t>(length));
      double most = 0;
      for (const double x : row) most = std::max(most, std::abs(x));
      const double least = most * least_normal;
      std::uint64_t at = key + static_cast<std::uint64_t>(r * length);
      for (double& x : row) {
        ++at;
        if (x != 0 && std::abs(x) < least) x += least * unit * uniform(mix(at));
      }
    }
  });
}

/// Rows or columns must be contiguous for speed only.
std::vector<double> squares_of_rows(ThreadPool& threads, MatrixView<const double> x) {
  std::vector<double> sums(static_cast<std::size_t>(x.rows));
  constexpr std::int64_t near = 1024;  // sums that stay in the nearest cache
  const std::int64_t grain =
      x.column_stride == 1 ? lines_of_a_chunk(x.columns) : std::max(near / 2, lines_of_a_chunk(x.columns));
  threads.for_range(x.rows, grain, [&](std::int64_t first, std::int64_t last) {
    if (x.column_stride == 1) {
      for (std::int64_t r = first; r < last; ++r)
        sums[static_cast<std::size_t>(r)] = kernel().sum_of_squares(x.data + r * x.row_stride, x.columns);
      return;
    }
    for (std::int64_t r = first; r < last; r += near) {
      const std::int64_t count = std::min(near, last - r);
      for (std::int64_t c = 0; c < x.columns; ++c) {
        const double* const from = x.data + r * x.row_stride + c * x.column_stride;
        if (x.row_stride == 1) {
          kernel().add_squares(sums.data() + r, from, count);
        } else {
          for (std::int64_t i = 0; i < count; ++i)
            sums[static_cast<std::size_t>(r + i)] += from[i * x.row_stride] * from[i * x.row_stride];
        }
      }
    }
  });
  return sums;
}

/// Calls body(numbers, first, count) for parts of a line of a matrix, copied and written back unless the line is contiguous.
template <class Body>
void for_contiguous(double* line, std::int64_t length, std::int64_t stride, const Body& body) {
  if (stride == 1) return body(line, std::int64_t{0}, length);
  std::array<double, 256> numbers;
  for (std::int64_t first = 0; first < length; first += numbers.size()) {
    const std::int64_t count = std::min<std::int64_t>(numbers.size(), length - first);
    double* const from = line + first * stride;
    for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = from[i * stride];
    body(numbers.data(), first, count);
    for (std::int64_t i = 0; i < count; ++i) from[i * stride] = numbers[static_cast<std::size_t>(i)];
  }
}

/// Tells products apart that run in parallel within one node.
std::uint64_t fingerprint(MatrixView<const double> x) {
  if (x.rows == 0 || x.columns == 0) return 0;
  const std::int64_t last = (x.rows - 1) * x.row_stride + (x.columns - 1) * x.column_stride;
  return mix(std::bit_cast<std::uint64_t>(x.data[0])) ^ mix(std::bit_cast<std::uint64_t>(x.data[last]) + 1) ^
         mix(std::bit_cast<std::uint64_t>(x.data[(x.rows / 2) * x.row_stride + (x.columns / 2) * x.column_stride]) + 2);
}

/// to[i] = x[i] with a relative error of standard deviation `scale` if it has more than `bits` significant bits; x may be `to`.
void add_errors(ThreadPool& threads, std::span<double> to, const double* x, std::uint64_t key, double scale, int bits) {
  constexpr std::int64_t near = 2048;  // numbers that stay in the nearest cache
  threads.for_range(
      static_cast<std::int64_t>(to.size()), errors_of_a_chunk, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; i += near) {
          const std::int64_t count = std::min(near, last - i);
          double* const part = to.data() + i;
          if (part != x + i) std::copy_n(x + i, count, part);
          kernel().add_relative(part, count, key + static_cast<std::uint64_t>(i) + 1, scale, bits_beyond(bits));
        }
      });
}

/// A copy with the same errors.
Tensor with_errors(ThreadPool& threads, const Tensor& x, std::uint64_t key, double scale, int bits) {
  Tensor copy = Tensor::unset(x.memory(), x.type(), x.dims());
  add_errors(threads, copy.write<double>(), x.as<double>().data(), key, scale, bits);
  return copy;
}

std::int64_t terms_of(NoiseRule::Length length, const Tensor& results, const Tensor* input,
                      std::optional<std::int64_t> summed) {
  switch (length) {
    case NoiseRule::Length::reduced:
      return input && results.size() > 0 ? std::max<std::int64_t>(1, input->size() / results.size()) : 1;
    case NoiseRule::Length::last_axis:
      return summed ? *summed : results.rank() > 0 ? results.dims().back() : 1;
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

std::vector<const NoiseKernel*> usable_noise_kernels() {
  std::vector<const NoiseKernel*> kernels;
#if defined(__x86_64__)
  if (has_v4()) kernels.push_back(&noise_kernel_v4);
  if (has_v3()) kernels.push_back(&noise_kernel_v3);
#endif
  kernels.push_back(&noise_kernel_baseline);
  return kernels;
}

Arithmetic arithmetic_of(Profile profile) {
  constexpr double float32 = 0x1p-24, float16 = 0x1p-11, bfloat16 = 0x1p-8;
  switch (profile) {
    case Profile::float32:
      return {.sums = float32, .operands = 0, .results = float32, .steps = false};
    case Profile::winograd:
      return {.sums = float32, .operands = 0, .results = float32, .steps = false, .winograd = winograd_growth};
    case Profile::tf32:
      return {.sums = float32, .operands = float16, .results = float32, .steps = false};
    case Profile::float16:
      return {.sums = float32, .operands = float16, .results = float16, .steps = false};
    case Profile::bfloat16:
      return {.sums = float32, .operands = bfloat16, .results = bfloat16, .steps = false};
    case Profile::fp8:
      return {.sums = float32, .operands = float16, .results = float16, .steps = false, .weighted = 0x1p-4};
    case Profile::int8:
      return {.sums = float32, .operands = 0x1p-8, .results = float32, .steps = true};
  }
  return {.sums = float32, .operands = 0, .results = float32, .steps = false};
}

void Noise::multiply(const Multiplier& with, MatrixView<const double> a, MatrixView<const double> b,
                     MatrixView<double> c, bool accumulate, double factor) const {
  ThreadPool& threads = with.threads;
  const std::uint64_t key = mix(mix(seed_) + nodes_) ^ fingerprint(a) ^ (fingerprint(b) << 1);
  std::unique_ptr<double[]> left, right;
  constexpr std::int64_t weighted_multiple = 16;  // of the terms of sums that are computed so
  if (arithmetic_.weighted > 0 && a.columns % weighted_multiple == 0) {
    const double unit = amplitude_ * arithmetic_.weighted;
    const int bits = bits_of(arithmetic_.weighted);
    left = rounded_operand(threads, a, unit, bits, mix(key + 1));
    right = rounded_operand(threads, b.transposed(), unit, bits, mix(key + 2));
    add_errors_of_small(threads, left.get(), a.rows, a.columns, unit, mix(key + 4));
    add_errors_of_small(threads, right.get(), b.columns, b.rows, unit, mix(key + 5));
    a = row_major<const double>(left.get(), a.rows, a.columns);
    b = row_major<const double>(right.get(), b.columns, b.rows).transposed();
  } else if (arithmetic_.operands > 0) {
    const double unit = amplitude_ * arithmetic_.operands;
    const int bits = bits_of(arithmetic_.operands);
    left = rounded_operand(threads, a, unit, bits, mix(key + 1));
    right = rounded_operand(threads, b, unit, bits, mix(key + 2));
    a = row_major<const double>(left.get(), a.rows, a.columns);
    b = row_major<const double>(right.get(), b.rows, b.columns);
  }
  multiply_doubles(with, a, b, c, accumulate);
  if (a.columns == 0) return;

  const double terms = static_cast<double>(a.columns) / 3;
  const double unit = amplitude_ * factor * arithmetic_.sums * deviation_of_uniform;
  const std::uint64_t beyond = bits_beyond(bits_of(arithmetic_.sums));
  const std::vector<double> rows = squares_of_rows(threads, a);
  const auto squares_of_columns = [&] { return squares_of_rows(threads, b.transposed()); };
  const auto columns = with.shared ? with.shared->sums(b, squares_of_columns)
                                   : std::make_shared<const std::vector<double>>(squares_of_columns());
  threads.for_range(c.rows, lines_of_a_chunk(c.columns), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::uint64_t row_key = mix(key + 3 + static_cast<std::uint64_t>(i));
      const double squares = rows[static_cast<std::size_t>(i)] / 6;  // n/6 (sum a^2)(sum b^2)/n
      for_contiguous(c.data + i * c.row_stride, c.columns, c.column_stride,
                     [&](double* y, std::int64_t at, std::int64_t count) {
                       kernel().add_of_sums(y, count, row_key + static_cast<std::uint64_t>(at), unit, terms, squares,
                                            columns->data() + at, beyond);
                     });
    }
  });
}

void Noise::round_results(ThreadPool& threads, Tensor& results, const NoiseRule& rule, const Tensor* first_input,
                          std::optional<std::int64_t> summed) const {
  const double unit = std::max(arithmetic_.results, unit_roundoff(results.type()));
  const bool is_coarse = unit > arithmetic_.sums;
  if (rule.results == 0 && !(rule.is_product && is_coarse)) return;
  const double terms = static_cast<double>(terms_of(rule.length, results, first_input, summed));
  // The summation itself works in the precision of sums; only what is stored is as coarse as results are.
  const double inner = arithmetic_.sums * (rule.results + (terms > 1 ? std::sqrt(terms) / 3 : 0));
  const double step = amplitude_ * deviation_of_uniform, scale = step * std::hypot(inner, unit);
  const int bits = bits_of(unit);
  const std::uint64_t key = mix(mix(seed_ + 1) + nodes_);
  const std::span<double> all = results.write<double>();
  add_errors(threads, all, all.data(), key, scale, bits);
  if (rule.absolute == 0) return;
  constexpr std::int64_t chunk = errors_of_a_chunk;
  threads.for_range(results.size(), chunk, [&](std::int64_t first, std::int64_t last) {
    kernel().add_absolute(all.data() + first, last - first, mix(key) + static_cast<std::uint64_t>(first),
                          step * rule.absolute * arithmetic_.sums, bits_beyond(bits));
  });
}

Tensor Noise::disturbed(ThreadPool& threads, const Tensor& input, double roundings) const {
  const double scale = amplitude_ * roundings * arithmetic_.sums * deviation_of_uniform;
  return with_errors(threads, input, mix(mix(seed_ + 2) + nodes_), scale, few_bits);
}

Tensor Noise::in_blocks_of_8_bits(ThreadPool& threads, const Tensor& rows, std::int64_t length,
                                  std::int64_t block) const {
  constexpr double greatest_step = 127;
  constexpr std::uint64_t all_but_zero = ~std::uint64_t{0} >> 1;
  Tensor copy = Tensor::unset(rows.memory(), rows.type(), rows.dims());
  const std::span<const double> from = rows.as<double>();
  double* const to = copy.write<double>().data();
  const std::uint64_t key = mix(mix(seed_ + 6) + nodes_);
  threads.for_range(
      length == 0 ? 0 : rows.size() / length, lines_of_a_chunk(length), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t at = first * length; at < last * length;) {
          const std::int64_t count = std::min(block, length - at % length);
          double greatest = 0;
          for (std::int64_t i = at; i < at + count; ++i) greatest = std::max(greatest, std::abs(from[i]));
          std::copy_n(from.data() + at, count, to + at);
          // Half a step, as the roundings elsewhere are half a unit.
          const double scale = amplitude_ * deviation_of_uniform * greatest / greatest_step / 2;
          kernel().add_absolute(to + at, count, key + static_cast<std::uint64_t>(at), scale, all_but_zero);
          at += count;
        }
      });
  return copy;
}

Tensor Noise::stored_input(ThreadPool& threads, const Tensor& input, std::uint64_t key) const {
  const double unit = profile_.results;
  if (input.type() != ElementType::float32 || unit <= unit_roundoff(ElementType::float32)) return input;
  return with_errors(threads, input, mix(mix(seed_ + 5) + key), amplitude_ * unit * deviation_of_uniform,
                     bits_of(unit));
}

double Noise::error(std::uint64_t key, double unit) const {
  return amplitude_ * unit * deviation_of_uniform * normal(mix(mix(mix(seed_ + 4) + nodes_) + key));
}

double Noise::error(std::uint64_t key) const { return error(key, arithmetic_.sums); }

double Noise::error_of_sum(std::uint64_t key, double sum, double squares, std::int64_t terms) const {
  if (fits(sum, bits_of(arithmetic_.sums))) return 0;
  const auto count = static_cast<double>(terms);
  return error(key) * std::sqrt(count / 3 * sum * sum + count / 6 * squares);
}

double Noise::error_of_roundings(std::uint64_t key, double number, std::int64_t count) const {
  constexpr std::int64_t terms_of_rounding = 3;  // of a sum whose squares do not count
  return error_of_sum(key, number, 0, terms_of_rounding * count);
}

// Positions and weights are computed in float32 for float64 elements, too.

double Noise::position(double exact, std::uint64_t key) const {
  return fits(exact, bits_of(profile_.sums)) ? exact : exact + error(2 * key, profile_.sums) * (std::abs(exact) + 1);
}

double Noise::weight(double exact, std::uint64_t key) const {
  // The terms of a cubic filter are a few times larger than their sum.
  constexpr double terms = 4;
  return fits(exact, few_bits) ? exact : exact + terms * error(2 * key + 1, profile_.sums);
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
