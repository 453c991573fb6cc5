#include "converters/formats/tflite/pair_scales.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

namespace onnxkit::tflite {
namespace {

constexpr int most_units = 256;           // in the last place, of both scales together
constexpr double wanted_distance = 2e-5;  // from a half, in steps: what float32 may be off by near 128
constexpr double ulp = 1.0 / (1 << 23);   // at most, in relation to a scale

/// Integers whose result lies next to a half between two integers that the type has.
struct NearPair {
  std::int64_t left = 0, right = 0;  ///< less their zero points
  double half = 0;
  double distance = 0;
  std::int64_t kernel = 0;  ///< what the kernel gives, less the zero point
};

float moved(float scale, int units) {
  return std::bit_cast<float>(static_cast<std::int32_t>(std::bit_cast<std::int32_t>(scale) + units));
}

class Search {
 public:
  Search(const PairOperator& op, std::span<const std::int64_t> rights) : op_(op) {
    set_multipliers();
    for (std::int64_t left = op.least; left <= op.greatest; ++left)
      for (const std::int64_t right : rights) add(left - op.left.zero_point, right - op.right.zero_point);
    std::sort(pairs_.begin(), pairs_.end(),
              [](const NearPair& a, const NearPair& b) { return a.distance < b.distance; });
  }

  PairScales best() {
    for (int units = 0; units <= most_units && distance_ < wanted_distance; ++units)
      for (int left = -units; left <= units && distance_ < wanted_distance; ++left) {
        const int right = units - std::abs(left);
        if (op_.kernel == PairKernel::multiply && right != 0) continue;
        consider(left, right);
        if (right != 0) consider(left, -right);
      }
    return found_.value_or(PairScales{op_.left.scale, op_.right.scale, false});
  }

 private:
  bool multiplies() const { return op_.kernel == PairKernel::multiply; }
  double sign() const { return op_.kernel == PairKernel::subtract ? -1 : 1; }

  void set_multipliers() {
    product_ratio_ = op_.left.scale * op_.right.scale / op_.result.scale;
    const float left = op_.left.scale / op_.result.scale, right = op_.right.scale / op_.result.scale;
    shift_ = 20 - std::ilogb(std::max(left, right));
    left_multiplier_ = std::llrint(std::ldexp(static_cast<double>(left), shift_));
    right_multiplier_ = std::llrint(std::ldexp(static_cast<double>(right), shift_));
    if (op_.kernel == PairKernel::subtract) right_multiplier_ = -right_multiplier_;
  }

  std::int64_t kernel_result(std::int64_t left, std::int64_t right) const {
    if (multiplies()) return std::lrint(static_cast<float>(left * right) * product_ratio_);
    const std::int64_t sum = left * left_multiplier_ + right * right_multiplier_ + (std::int64_t{1} << (shift_ - 1));
    return sum >> shift_;
  }

  double exact(std::int64_t left, std::int64_t right, double left_scale, double right_scale) const {
    const auto a = static_cast<double>(left), b = static_cast<double>(right), step = double{op_.result.scale};
    return multiplies() ? a * b * (left_scale * right_scale / step)
                        : a * (left_scale / step) + sign() * b * (right_scale / step);
  }

  void add(std::int64_t left, std::int64_t right) {
    const double value = exact(left, right, double{op_.left.scale}, double{op_.right.scale});
    const double half = std::floor(value) + 0.5;
    if (half < static_cast<double>(op_.least - op_.result.zero_point) ||
        half > static_cast<double>(op_.greatest - op_.result.zero_point))
      return;  // saturates on both sides
    const double size = multiplies() ? std::abs(value)
                                     : (std::abs(static_cast<double>(left)) * double{op_.left.scale} +
                                        std::abs(static_cast<double>(right)) * double{op_.right.scale}) /
                                           double{op_.result.scale};
    const double distance = std::abs(value - half);
    if (distance > 2 * wanted_distance + most_units * ulp * size) return;
    pairs_.push_back({left, right, half, distance, kernel_result(left, right)});
  }

  /// How far from its half, on the kernel's side, the nearest result is; what is not more than `least` is not looked at further.
  double distance_with(float left, float right, double least) const {
    double nearest = 1;
    for (const NearPair& pair : pairs_) {
      const double beyond = exact(pair.left, pair.right, double{left}, double{right}) - pair.half;
      nearest = std::min(nearest, static_cast<double>(pair.kernel) > pair.half ? beyond : -beyond);
      if (nearest <= least) break;
    }
    return nearest;
  }

  /// In float32, node by node, and as a kernel of its own that multiplies by ratios of scales, which is how runtimes join such nodes.
  bool holds_in_float(float left, float right) const {
    const float step = op_.result.scale, zero = static_cast<float>(op_.result.zero_point);
    const float left_ratio = left / step, right_ratio = right / step, product_ratio = left * right / step;
    const float left_part = left_ratio * static_cast<float>(op_.left.zero_point);
    const float right_part = right_ratio * static_cast<float>(op_.right.zero_point);
    const float rest = zero - (left_part + right_part);
    return std::all_of(pairs_.begin(), pairs_.end(), [&](const NearPair& pair) {
      const float a = static_cast<float>(pair.left), b = static_cast<float>(pair.right);
      const float x = a * left, y = b * right;
      const float real = multiplies() ? x * y : op_.kernel == PairKernel::subtract ? x - y : x + y;
      if (std::lrint(real / step) != pair.kernel) return false;
      float joined = 0;
      if (multiplies()) {
        const float product = static_cast<float>(pair.left * pair.right) * product_ratio;
        joined = product + zero;
      } else if (op_.kernel == PairKernel::add) {
        const float stored_right = b + static_cast<float>(op_.right.zero_point);
        const float stored_left = a + static_cast<float>(op_.left.zero_point);
        joined = std::fma(stored_left, left_ratio, std::fma(stored_right, right_ratio, rest));
      } else {
        return true;
      }
      return std::lrint(joined) == pair.kernel + op_.result.zero_point;
    });
  }

  void consider(int left_units, int right_units) {
    const float left = moved(op_.left.scale, left_units), right = moved(op_.right.scale, right_units);
    const double distance = distance_with(left, right, distance_);
    if (distance <= distance_ || !holds_in_float(left, right)) return;
    distance_ = distance;
    found_ = PairScales{left, right, true};
  }

  const PairOperator& op_;
  float product_ratio_ = 1;
  int shift_ = 0;
  std::int64_t left_multiplier_ = 0, right_multiplier_ = 0;
  std::vector<NearPair> pairs_;
  double distance_ = 0;
  std::optional<PairScales> found_;
};

}  // namespace

bool has_kernel(const PairOperator& op) {
  const auto is_size = [](float scale) { return std::isnormal(scale) && scale > 1e-30F && scale < 1e30F; };
  const auto is_of_type = [&](const Steps& steps) {
    return steps.zero_point >= op.least && steps.zero_point <= op.greatest;
  };
  if (!is_of_type(op.left) || !is_of_type(op.right) || !is_of_type(op.result)) return false;
  if (!is_size(op.left.scale) || !is_size(op.right.scale) || !is_size(op.result.scale)) return false;
  if (op.kernel == PairKernel::multiply) {
    const float ratio = op.left.scale * op.right.scale / op.result.scale;
    return ratio >= 1.0F / (1 << 16) && ratio < 256;
  }
  const std::array<float, 2> ratios = {op.left.scale / op.result.scale, op.right.scale / op.result.scale};
  return std::all_of(ratios.begin(), ratios.end(),
                     [](float ratio) { return ratio >= 1.0F / (1 << 10) && ratio < 256; });
}

PairScales pair_scales(const PairOperator& op, std::span<const std::int64_t> rights) {
  return Search(op, rights).best();
}

}  // namespace onnxkit::tflite
