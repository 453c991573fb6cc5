#include <algorithm>
#include <bit>

#include "tests/unit/cpu/kernels_support.h"

namespace onnxkit::tests::cpu_math {

using namespace cpu_kernels;
using cpu::Function;

namespace {

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

struct Row {
  Function function;
  double (*wanted)(double);
  double units;  ///< in the last place
};
const Row rows[] = {{Function::exp, [](double x) { return std::exp(x); }, 2},
                    {Function::log, [](double x) { return std::log(x); }, 2},
                    {Function::tanh, [](double x) { return std::tanh(x); }, 3},
                    {Function::erf, [](double x) { return std::erf(x); }, 3},
                    {Function::sigmoid, sigmoid, 3},
                    {Function::silu, [](double x) { return x * sigmoid(x); }, 3},
                    {Function::atan, [](double x) { return std::atan(x); }, 3},
                    {Function::asin, [](double x) { return std::asin(x); }, 3},
                    {Function::acos, [](double x) { return std::acos(x); }, 3}};

/// The distance of neighbouring floats where x is.
double unit_at(double x) {
  const int exponent = x == 0 ? -126 : std::max(std::ilogb(x), -126);
  return std::ldexp(1.0, exponent - 23);
}

/// In units of the last place; infinite where only one is infinite or NaN, or the sign of a zero differs.
double distance(float found, double wanted) {
  constexpr double far = std::numeric_limits<double>::infinity();
  if (std::isnan(wanted)) return std::isnan(found) ? 0 : far;
  const auto rounded = static_cast<float>(wanted);
  if (std::isinf(rounded) || std::isinf(found) || found == 0) {
    const bool near = std::abs(wanted) > 0x1.fffffcp127 || std::abs(wanted) <= 0x1p-149;
    const bool same_sign = std::signbit(found) == std::signbit(wanted);
    if (found == rounded) return same_sign ? 0 : far;
    return near && same_sign ? 1 : far;
  }
  return std::abs(found - wanted) / unit_at(wanted);
}

/// Floats of all magnitudes and both signs, and special ones.
Floats all_magnitudes() {
  Floats x;
  for (std::uint64_t bits = 0; bits < 0x1'0000'0000U; bits += 8191)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (int i = -200'000; i <= 200'000; ++i) x.push_back(static_cast<float>(i) * 0.0005F);
  for (int i = -1'000; i <= 1'000; ++i) x.push_back(static_cast<float>(i) * 0.001F);
  constexpr auto infinity = std::numeric_limits<float>::infinity();
  for (const float special :
       {0.0F, -0.0F, infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 88.7228F, 88.7229F, -87.3365F,
        -103.2F, -103.97F, -104.1F, 1.0F, 0x1p-149F, 0x1.fffffep127F, 0.85F, 0.625F}) {
    x.push_back(special);
  }
  return x;
}

}  // namespace

TEST_CASE("functions of arrays are right to a few units over all floats, zeros, infinities and NaN included") {
  const Floats x = all_magnitudes();
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Row& row : rows) {
      CAPTURE(static_cast<int>(row.function));
      Floats y = x;
      cpu::array_function(row.function, isa)(y.data(), y.data(), static_cast<int64_t>(y.size()));
      double most = 0;
      std::size_t worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double units = distance(y[i], row.wanted(double{x[i]}));
        if (units > most) most = units, worst = i;
      }
      CAPTURE(x[worst]);
      CAPTURE(y[worst]);
      CHECK(most <= row.units);
    }
  });
}

TEST_CASE("functions of arrays write no more than they are asked for") {
  on_each_isa([&](const cpu::Isa& isa) {
    for (int64_t count = 0; count < 70; ++count) {
      const Floats from = random_floats(count, 3);  // nothing beyond is there to be read
      Floats to = filled(count + 1), all = filled(count + 1);
      cpu::array_function(Function::exp, isa)(to.data(), from.data(), count);
      CHECK(to.back() == not_written);
      for (int64_t i = 0; i < count; ++i)
        CHECK(std::abs(to[static_cast<std::size_t>(i)] - std::exp(from[static_cast<std::size_t>(i)])) < 1e-6);
    }
  });
}

}  // namespace onnxkit::tests::cpu_math
