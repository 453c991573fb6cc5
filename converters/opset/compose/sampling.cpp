#include "converters/opset/compose/sampling.h"

#include <algorithm>
#include <cmath>

namespace onnxkit::opset {
namespace {

using Mode = SamplingRules::Mode;
using Rounding = SamplingRules::Rounding;

constexpr std::int64_t longest_axis = 1 << 16;
constexpr double widest_filter = 1 << 10;

std::optional<double> position(const SampledAxis& axis, const std::string& rule, std::int64_t i) {
  const auto at = static_cast<double>(i), size = static_cast<double>(axis.size);
  const auto new_size = static_cast<double>(axis.new_size);
  const double length = axis.scale * size;
  const double by_centers = (at + 0.5) / axis.scale - 0.5;
  if (rule == "asymmetric") return at / axis.scale;
  if (rule == "half_pixel") return by_centers;
  if (rule == "pytorch_half_pixel") return axis.new_size > 1 ? by_centers : 0;
  if (rule == "half_pixel_symmetric") return by_centers + size / 2 * (1 - new_size / length);
  if (rule == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (rule == "align_corners") return length == 1 ? 0 : at * (size - 1) / (length - 1);
  if (rule != "tf_crop_and_resize") return std::nullopt;
  const double begin = axis.begin * (size - 1), end = axis.end * (size - 1);
  return axis.new_size > 1 ? begin + at * (end - begin) / (new_size - 1) : (begin + end) / 2;
}

double rounded(double at, Rounding rounding, double scale) {
  switch (rounding) {
    case Rounding::floor:
      return std::floor(at);
    case Rounding::ceil:
      return std::ceil(at);
    case Rounding::prefer_floor:
      return std::ceil(at - 0.5);
    case Rounding::prefer_ceil:
      return std::floor(at + 0.5);
    case Rounding::by_direction:
      break;
  }
  return scale < 1 ? std::ceil(at) : std::floor(at);
}

double filter(double x, const SamplingRules& rules) {
  x = std::abs(x);
  if (rules.mode == Mode::linear) return std::max(1 - x, 0.0);
  const double a = rules.cubic_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Beyond an end its element repeats, or what lies there is left out and the rest made to add up to 1.
Taps interpolated(double at, const SampledAxis& axis, const SamplingRules& rules) {
  const double shrink = rules.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (rules.mode == Mode::linear ? 1 : 2) / shrink;
  const auto last = static_cast<double>(axis.size - 1);
  Taps taps;
  double total = 0;
  for (double i = std::floor(at - reach) + 1; i < at + reach; ++i) {
    const double weight = filter((i - at) * shrink, rules);
    if (weight == 0 || (rules.exclude_outside && (i < 0 || i > last))) continue;
    const auto from = static_cast<std::int64_t>(std::clamp(i, 0.0, last));
    if (taps.from.empty() || taps.from.back() != from) {
      taps.from.push_back(from);
      taps.weights.push_back(0);
    }
    taps.weights.back() += weight;
    total += weight;
  }
  if ((rules.antialias || rules.exclude_outside) && total != 0) {
    for (double& weight : taps.weights) weight /= total;
  }
  return taps;
}

}  // namespace

std::optional<TapTable> tap_table(const SampledAxis& axis, const SamplingRules& rules) {
  if (axis.new_size < 0 || axis.new_size > longest_axis || axis.size < 1 || !(axis.scale > 0)) return std::nullopt;
  if (rules.antialias && 4 / axis.scale > widest_filter) return std::nullopt;
  TapTable table;
  for (std::int64_t i = 0; i < axis.new_size; ++i) {
    const auto at = position(axis, rules.coordinates, i);
    if (!at || !(std::abs(*at) < 1e15)) return std::nullopt;
    // What decides by a comparison looks at positions in single precision, as runtimes do.
    const auto single = static_cast<double>(static_cast<float>(*at));
    const auto last = static_cast<double>(axis.size - 1);
    Taps taps;
    if (rules.mode == Mode::nearest) {
      taps.from = {static_cast<std::int64_t>(std::clamp(rounded(single, rules.rounding, axis.scale), 0.0, last))};
      taps.weights = {1};
    } else {
      taps = interpolated(*at, axis, rules);
    }
    taps.outside = rules.crops() && (single < 0 || single > last);
    if (taps.from.empty() && !taps.outside) return std::nullopt;
    table.push_back(std::move(taps));
  }
  return table;
}

bool same_samples(const TapTable& a, const TapTable& b, double tolerance) {
  const auto heaviest_apart = [](const Taps& x, const Taps& y) {
    // Merged by element, so that a tap of no weight to speak of counts as none.
    double apart = 0;
    std::size_t i = 0, j = 0;
    while (i < x.from.size() || j < y.from.size()) {
      const bool takes_x = j == y.from.size() || (i < x.from.size() && x.from[i] <= y.from[j]);
      const bool takes_y = i == x.from.size() || (j < y.from.size() && y.from[j] <= x.from[i]);
      const double difference = (takes_x ? x.weights[i] : 0) - (takes_y ? y.weights[j] : 0);
      apart = std::max(apart, std::abs(difference));
      i += takes_x ? 1 : 0;
      j += takes_y ? 1 : 0;
    }
    return apart;
  };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].outside != b[i].outside) return false;
    if (!a[i].outside && heaviest_apart(a[i], b[i]) > tolerance) return false;
  }
  return true;
}

bool nearest_as_version_10(double scale, const SamplingRules& rules) {
  const bool halves_up_or_down = rules.rounding == Rounding::prefer_floor || rules.rounding == Rounding::prefer_ceil;
  const bool from_centers = rules.coordinates == "half_pixel" || rules.coordinates == "pytorch_half_pixel" ||
                            rules.coordinates == "half_pixel_symmetric";
  if (rules.coordinates == "asymmetric") {
    int exponent = 0;
    if (scale <= 1 && std::frexp(scale, &exponent) == 0.5) return true;  // all positions are integers
    if (rules.rounding == Rounding::by_direction) return true;
    if (scale < 1) return rules.rounding == Rounding::ceil;
    return rules.rounding == Rounding::floor || (scale == 2 && rules.rounding == Rounding::prefer_floor);
  }
  if (scale < 1 || scale != std::floor(scale) || scale > 1 << 20) return false;
  // By a whole factor, centers of the new elements lie within the old element that they are a part of.
  if (from_centers) return halves_up_or_down || scale == 1;
  if (rules.coordinates == "tf_half_pixel_for_nn") return rules.rounding == Rounding::floor;
  return rules.coordinates == "align_corners" && scale == 1;
}

std::optional<std::int64_t> scaled_size(std::int64_t size, float scale) {
  const float scaled = std::floor(static_cast<float>(size) * scale);
  if (!(scaled >= 0 && scaled < 0x1p62F)) return std::nullopt;
  return static_cast<std::int64_t>(scaled);
}

}  // namespace onnxkit::opset
