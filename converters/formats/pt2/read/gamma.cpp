// The gamma function's logarithm and its derivatives, by series of Abramowitz and Stegun, Handbook of Mathematical Functions, whose numbers stand beside
// them.
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "converters/formats/pt2/doubles.h"
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

template <SpecialFunction function>
void map_gamma(Call& call) {
  give_special(call, function);
}

/// log Gamma(x) for x >= 0: Stirling's series (6.1.41) at x + 7, less the logarithm of x (x + 1) ... (x + 6).
Val log_gamma_of_positive(const Doubles& math, Val x) {
  constexpr double series[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  const Val z = math.sum(x, 7), half = math.number(0.5);
  const Val main = math.product(math.difference(z, half), math.sum(math.of("Log", z), -1));
  const Val rest = math.quotient(math.polynomial(math.quotient(1, math.product(z, z)), series), z);
  Val product = x;
  for (int i = 1; i < 7; ++i) product = math.product(product, math.sum(x, i));
  const double constant = std::log(2 * std::numbers::pi) / 2 - 0.5;
  return math.difference(math.sum(math.sum(main, rest), constant), math.of("Log", product));
}

/// How far x is from the nearest integer, times pi.
Val angle_from_integer(const Doubles& math, Val x) {
  return math.product(math.difference(x, math.of("Round", x)), std::numbers::pi);
}

/// Below zero by reflection (6.1.17): Gamma(x) Gamma(-x) = -pi / (x sin(pi x)).
Val log_gamma(const Doubles& math, Val x) {
  const Val size = math.of("Abs", x);
  const Val positive = log_gamma_of_positive(math, size);
  const Val sine = math.of("Abs", math.of("Sin", angle_from_integer(math, size)));
  const Val reflected = math.of("Log", math.quotient(std::numbers::pi, math.product(size, sine)));
  const Val value = math.chosen(math.is_less(x, 0), math.difference(reflected, positive), positive);
  return math.chosen(math.of("IsInf", x), size, value);
}

Val whole_power(const Doubles& math, Val x, std::int64_t power) {
  Val result = x;
  for (std::int64_t i = 1; i < power; ++i) result = math.product(result, x);
  return result;
}

/// The sum over the first k of 1 / (x + k)^power.
Val first_terms(const Doubles& math, Val x, std::int64_t power, std::int64_t count) {
  Val sum;
  for (std::int64_t k = 0; k < count; ++k) {
    const Val at = k == 0 ? x : math.sum(x, static_cast<double>(k));
    const Val term = math.quotient(1, whole_power(math, at, power));
    sum = sum ? math.sum(sum, term) : term;
  }
  return sum;
}

/// Of x >= 0 by the series 6.3.18 at x + 7; below zero psi(1 - x) - pi / tan(pi x).
Val digamma(const Doubles& math, Val x) {
  constexpr double series[] = {-1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240, -1.0 / 132, 691.0 / 32760};
  const Val is_negative = math.is_less(x, 0);
  const Val at = math.chosen(is_negative, math.difference(1, x), x);
  const Val z = math.sum(at, 7), inverse = math.quotient(1, z), square = math.product(inverse, inverse);
  const Val rest = math.difference(math.product(math.polynomial(square, series), square), math.product(inverse, 0.5));
  const Val value = math.difference(math.sum(math.of("Log", z), rest), first_terms(math, at, 1, 7));
  // The cosine is positive between two half integers.
  const Val angle = angle_from_integer(math, x);
  const Val cosine = math.of("Sin", math.difference(std::numbers::pi / 2, math.of("Abs", angle)));
  const Val cotangent = math.quotient(math.product(cosine, std::numbers::pi), math.of("Sin", angle));
  const Val reflected = math.chosen(math.equals(angle, 0), math.number(std::numeric_limits<double>::quiet_NaN()),
                                    math.difference(value, cotangent));
  return math.chosen(is_negative, reflected, value);
}

/// The derivative of this order of pi cot(pi x), as a polynomial in the cotangent: that of cot(pi x) is -pi (1 + cot^2).
std::vector<double> cotangent_derivative(std::int64_t order) {
  std::vector<double> now = {0, std::numbers::pi};
  for (std::int64_t i = 0; i < order; ++i) {
    std::vector<double> next(now.size() + 1, 0);
    for (std::size_t power = 1; power < now.size(); ++power) {
      const double slope = -std::numbers::pi * static_cast<double>(power) * now[power];
      next[power - 1] += slope;
      next[power + 1] += slope;
    }
    now = std::move(next);
  }
  return now;
}

/// Factors of the series 6.4.11 in 1 / z^2, without the sign and 1 / z^order: Bernoulli numbers times (2 k + order - 1)! / (2 k)!.
std::vector<double> polygamma_series(std::int64_t order) {
  constexpr double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
  std::vector<double> factors = {std::tgamma(static_cast<double>(order))};
  for (std::size_t k = 1; k <= std::size(bernoulli); ++k) {
    const auto twice = 2 * static_cast<double>(k);
    factors.push_back(bernoulli[k - 1] * std::tgamma(twice + static_cast<double>(order)) / std::tgamma(twice + 1));
  }
  return factors;
}

/// The derivative of digamma of an order from 1 on: of x >= 1/2 by the series at x + 7 + order, below by that of 1 - x (6.4.7).
Val polygamma(const Doubles& math, Val x, std::int64_t order) {
  const double factorial = std::tgamma(static_cast<double>(order) + 1), sign = order % 2 == 0 ? -1 : 1;
  const std::int64_t count = 7 + order;
  const Val is_low = math.is_less(x, 0.5);
  const Val at = math.chosen(is_low, math.difference(1, x), x);
  const Val inverse = math.quotient(1, math.sum(at, static_cast<double>(count)));
  const Val sum = math.polynomial(math.product(inverse, inverse), polygamma_series(order));
  const Val tail = math.product(math.sum(sum, math.product(inverse, factorial / 2)), whole_power(math, inverse, order));
  const Val head = math.product(first_terms(math, at, order + 1, count), factorial);
  const Val value = math.product(math.sum(head, tail), sign);
  const Val angle = angle_from_integer(math, x);
  const Val cosine = math.of("Sin", math.difference(std::numbers::pi / 2, math.of("Abs", angle)));
  const Val turn = math.polynomial(math.quotient(cosine, math.of("Sin", angle)), cotangent_derivative(order));
  const Val reflected = math.difference(math.product(value, -sign), turn);
  return math.chosen(is_low, reflected, value);
}

void map_polygamma(Call& call) {
  const std::int64_t order = call.integer("n", 0);
  constexpr std::int64_t most = 16;
  if (order == 0) return map_gamma<digamma>(call);
  if (order < 0 || order > most) return call.refuse("so high a derivative of the digamma function");
  give_special(call, [&](const Doubles& math, Val x) { return polygamma(math, x, order); });
}

}  // namespace

void register_gamma(Mappings& mappings);
void register_gamma(Mappings& mappings) {
  mappings.add({"aten.lgamma.default", "aten.special_gammaln.default"}, map_gamma<log_gamma>);
  mappings.add({"aten.digamma.default", "aten.special_digamma.default", "aten.special_psi.default"},
               map_gamma<digamma>);
  mappings.add({"aten.polygamma.default", "aten.special_polygamma.default"}, map_polygamma);
}

}  // namespace onnxkit::pt2
