#pragma once

#include <cstddef>
#include <span>

namespace onnxkit::comparison {

/// The order of scores for argmax and top-k: NaN above all numbers, as numpy has it; of equal scores the first one met stays above.
inline bool ranks_above(double x, double y) { return x > y || (x != x && y == y); }

inline std::size_t best_index(std::span<const double> scores) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    if (ranks_above(scores[i], scores[best])) best = i;
  }
  return best;
}

}  // namespace onnxkit::comparison
