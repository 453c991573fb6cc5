#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/rounding.h"
#include "reference/noise/draws.h"

namespace onnxkit::reference {

/// Of a run without errors, but in which what lies near an edge between two steps of a quantizer is taken to either side (docs/noise-floor.md).
class Edges {
 public:
  /// Of the run of that number. Two runs make a pair: what the one moves up the other moves down. In every second pair each number goes its own way, in
  /// the others all numbers of a node go away from zero, or towards it: runtimes round one factor for all of them.
  Edges(std::uint64_t seed, std::size_t run)
      : key_(mix(seed + run / 2)), way_(run % 2 == 0 ? few_sigmas : -few_sigmas), is_common_(run / 2 % 2 != 0) {}

  /// The i-th number of a node a few sigmas up or down.
  double moved(double number, double sigma, std::size_t node, std::size_t i) const {
    if (!std::isfinite(sigma)) return number;
    const std::uint64_t key = key_ + mix(node) + (is_common_ ? 0 : i);
    const bool is_up = ((mix(key) & 1) != 0) != (is_common_ && number < 0);
    return number + (is_up ? way_ : -way_) * sigma;
  }

 private:
  static constexpr double few_sigmas = 6;

  std::uint64_t key_;
  double way_;
  bool is_common_;
};

/// How far off a quantizer itself may be before it rounds, as a standard deviation in steps. Runtimes multiply by a reciprocal or by one factor for all
/// scales, and add the zero point or subtract the least number before they round: three roundings of numbers up to the quotient and the range of steps.
inline double quotient_sigma(double quotient, ElementType type) {
  const double range = static_cast<double>(greatest_of(type)) - static_cast<double>(least_of(type));
  constexpr double three_roundings = std::numbers::sqrt3 * deviation_of_uniform;
  return three_roundings * unit_roundoff(ElementType::float32) * (std::abs(quotient) + range);
}

}  // namespace onnxkit::reference
