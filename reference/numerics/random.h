#pragma once

#include <cmath>
#include <random>

// Numbers as numpy's RandomState draws them, so that seeded runs agree with what is computed by it.
namespace onnxkit::reference {

/// Of [0, 1), 53 bits.
inline double draw_uniform(std::mt19937& random) {
  const double high = static_cast<double>(random() >> 5), low = static_cast<double>(random() >> 6);
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

/// Normally distributed numbers by the polar method, which makes them in pairs.
class NormalDraws {
 public:
  double next(std::mt19937& random) {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * draw_uniform(random) - 1;
      y = 2 * draw_uniform(random) - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    spare_ = factor * x;
    has_spare_ = true;
    return factor * y;
  }

 private:
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace onnxkit::reference
