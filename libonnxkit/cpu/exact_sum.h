#pragma once

#include <cmath>
#include <cstdint>

// Sums of doubles that keep what an addition rounds off; sums of integers, which wrap.
namespace onnxkit::cpu {

inline void add_exactly(double& sum, double& rest, double number) {
  const double next = sum + number;
  rest += std::abs(sum) >= std::abs(number) ? (sum - next) + number : (number - next) + sum;
  sum = next;
}
inline double total_of(double sum, double rest) { return std::isfinite(rest) ? sum + rest : sum; }

inline void add_exactly(std::uint64_t& sum, std::uint64_t&, std::uint64_t number) { sum += number; }
inline std::uint64_t total_of(std::uint64_t sum, std::uint64_t) { return sum; }

}  // namespace onnxkit::cpu
