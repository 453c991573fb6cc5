// The loops of the noise floor for every instruction set (reference/noise_kernel.h).
#include "reference/noise/noise_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>

#include "reference/noise/draws.h"

namespace onnxkit::tests::reference_noise {

using namespace reference;

namespace {

using std::int64_t;
using std::uint64_t;

constexpr uint64_t beyond_float = bits_beyond(24);

std::vector<double> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::vector<double> numbers(count);
  for (double& x : numbers) x = std::normal_distribution<double>()(bits);
  return numbers;
}

struct Moments {
  double mean = 0, deviation = 0, fourth = 0, largest = 0;
};

template <class Errors>
Moments moments(const Errors& errors) {
  return {.mean = xt::mean(errors)(),
          .deviation = std::sqrt(xt::mean(xt::square(errors))()),
          .fourth = xt::mean(xt::square(xt::square(errors)))(),
          .largest = xt::amax(xt::abs(errors))()};
}

}  // namespace

TEST_CASE("noise: every instruction set draws the same errors, whatever the length and where a part begins") {
  const double scale = 1e-3;
  const NoiseKernel& plain = noise_kernel_baseline;
  for (const NoiseKernel* kernel : usable_noise_kernels()) {
    CAPTURE(kernel->name);
    for (const std::size_t count : {0, 1, 3, 7, 8, 9, 31, 33, 64, 100, 1000}) {
      CAPTURE(count);
      const auto length = static_cast<int64_t>(count);
      const std::vector<double> x = random_numbers(count, 1), weights = random_numbers(count, 2);
      auto a = x, b = x, parts = x;
      plain.add_relative(a.data(), length, 17, scale, beyond_float);
      kernel->add_relative(b.data(), length, 17, scale, beyond_float);
      const int64_t half = length / 2;
      kernel->add_relative(parts.data(), half, 17, scale, beyond_float);
      kernel->add_relative(parts.data() + half, length - half, 17 + static_cast<uint64_t>(half), scale, beyond_float);
      auto of_sums = x, wanted = x, rounded = x, wanted_rounded = x, squares = weights, wanted_squares = weights;
      for (std::size_t i = 0; i < count; ++i) squares[i] = wanted_squares[i] = std::abs(weights[i]);
      plain.add_of_sums(wanted.data(), length, 5, scale, 2, 3, squares.data(), beyond_float);
      kernel->add_of_sums(of_sums.data(), length, 5, scale, 2, 3, squares.data(), beyond_float);
      plain.round_operands(wanted_rounded.data(), length, 9, scale, beyond_float);
      kernel->round_operands(rounded.data(), length, 9, scale, beyond_float);
      plain.add_squares(wanted_squares.data(), x.data(), length);
      kernel->add_squares(squares.data(), x.data(), length);
      CHECK(kernel->sum_of_squares(x.data(), length) == doctest::Approx(plain.sum_of_squares(x.data(), length)));
      for (std::size_t i = 0; i < count; ++i) {
        const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-14); };
        CHECK(b[i] == near(a[i]));
        CHECK(parts[i] == near(a[i]));
        CHECK(of_sums[i] == near(wanted[i]));
        CHECK(rounded[i] == near(wanted_rounded[i]));
        CHECK(squares[i] == near(wanted_squares[i]));
      }
    }
  }
}

TEST_CASE("noise: errors have the size that is asked for, no mean and no tails") {
  constexpr std::size_t count = 1 << 18;
  const double scale = 1e-3;
  const auto length = static_cast<int64_t>(count);
  const std::vector<double> x = random_numbers(count, 3), squares(count, 2.0);
  for (const NoiseKernel* kernel : usable_noise_kernels()) {
    CAPTURE(kernel->name);
    auto relative = x, of_sums = x, rounded = x, absolute = x;
    kernel->add_absolute(absolute.data(), length, 4, scale, beyond_float);
    kernel->add_relative(relative.data(), length, 1, scale, beyond_float);
    kernel->add_of_sums(of_sums.data(), length, 2, scale, 3, 5, squares.data(), beyond_float);
    kernel->round_operands(rounded.data(), length, 3, scale, beyond_float);
    const auto exact = xt::adapt(x);
    const auto of_sums_scale = xt::sqrt(3 * xt::square(exact) + 5 * xt::adapt(squares));
    for (const Moments& of : {moments((xt::adapt(relative) - exact) / (scale * exact)),
                              moments((xt::adapt(of_sums) - exact) / (scale * of_sums_scale)),
                              moments((xt::adapt(absolute) - exact) / scale)}) {
      CHECK(std::abs(of.mean) < 5 / std::sqrt(static_cast<double>(count)));
      CHECK(of.deviation == doctest::Approx(1).epsilon(0.01));
      CHECK(of.fourth == doctest::Approx(2.7).epsilon(0.02));  // four uniform numbers; 3 of a normal one
      CHECK(of.largest < 3.5);
    }
    const Moments of = moments((xt::adapt(rounded) - exact) / (scale * exact));
    CHECK(of.deviation == doctest::Approx(1 / std::sqrt(3.0)).epsilon(0.01));
    CHECK(of.largest <= 1.0000001);
  }
}

TEST_CASE("noise: what few bits hold stays, zeros with their signs and infinities too") {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> exact = {0.0, -0.0, 1, -3, 0.5, inf, -inf, 0x1.fffffep100, 4097, 12345.75};
  const auto count = static_cast<int64_t>(exact.size());
  const std::vector<double> squares(exact.size(), inf);
  for (const NoiseKernel* kernel : usable_noise_kernels()) {
    CAPTURE(kernel->name);
    auto a = exact, b = exact, c = exact, d = exact;
    kernel->add_absolute(d.data(), count, 1, 1e-3, beyond_float);
    kernel->add_relative(a.data(), count, 1, 1e-3, beyond_float);
    kernel->add_of_sums(b.data(), count, 1, 1e-3, 1, 1, squares.data(), beyond_float);
    kernel->round_operands(c.data(), count, 1, 1e-3, beyond_float);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      for (const auto* kept : {&a, &b, &c, &d}) {
        CHECK((*kept)[i] == exact[i]);
        CHECK(std::signbit((*kept)[i]) == std::signbit(exact[i]));
      }
    }
  }
}

}  // namespace onnxkit::tests::reference_noise
