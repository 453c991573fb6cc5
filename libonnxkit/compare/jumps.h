#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Numbers behind a quantizer move by jumps, where rounding takes an element over an edge between two steps (docs/noise-floor.md).
namespace onnxkit::comparison {

/// How far elements are off that are off at all.
struct JumpSizes {
  double squares = 0, largest = 0;
  std::uint64_t count = 0;

  void add(double d) {
    if (d == 0) return;
    squares += d * d;
    largest = std::max(largest, std::abs(d));
    ++count;
  }
  double rms() const { return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count)); }
};

/// Of the finite elements of a tensor.
struct Deviations {
  std::vector<double> compared = {};              ///< of what a side gave
  std::vector<std::vector<double>> samples = {};  ///< of the samples of edges
  std::vector<double> variance = {};              ///< of rounding without edges
  double pooled = 0;                              ///< mean of these
  double sides = 1;                               ///< how many sides have rounded
  std::size_t sets = 1;                           ///< of inputs that get verdicts one by one
};

/// What is left of a tensor without its jumps, in standard deviations of rounding.
struct WithoutJumps {
  std::uint64_t jumps = 0, others = 0;
  double rms = 0, largest = 0;  ///< of the others
};

/// Where no more elements jump than flips of elements near an edge make jump, and no further, while all others are within rounding; else nullopt. A
/// jump is a deviation that is no rounding of the element.
std::optional<WithoutJumps> without_jumps_of_edges(const Deviations& deviations);

}  // namespace onnxkit::comparison
