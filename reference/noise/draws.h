#pragma once

#include <cstdint>

// Random numbers by counting, so that they can be drawn in any order. All is static: a file that is compiled for an instruction set must keep
// its own version, which the linker would merge with others if it were inline.
namespace onnxkit::reference {

/// splitmix64: one step of a counter gives 64 well mixed bits.
[[maybe_unused]] static std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Of [-1, 1).
[[maybe_unused]] static double uniform(std::uint64_t bits) {
  return static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63;
}

/// Nearly normal with mean 0: the sum of four uniform numbers, as a whole number whose standard deviation is normal_deviation.
[[maybe_unused]] static double normal_steps(std::uint64_t bits) {
  const std::uint64_t sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
  return static_cast<double>(static_cast<std::int32_t>(sum) - 2 * 65535);
}
constexpr double normal_deviation = 37837.2;  // sqrt(4 / 12) * 65536

/// The bits of a number that are 0 in all numbers of at most `significant` bits.
[[maybe_unused]] static constexpr std::uint64_t bits_beyond(int significant) {
  return (std::uint64_t{1} << (53 - significant)) - 1;
}

}  // namespace onnxkit::reference
