#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Which elements a resized axis is made of, by the rules of any version of Upsample and Resize. Tables of two versions that are the same prove that
// one can be written as the other.
namespace onnxkit::opset {

struct SamplingRules {
  enum class Mode : std::uint8_t { nearest, linear, cubic };
  enum class Rounding : std::uint8_t {
    floor,
    ceil,
    prefer_floor,
    prefer_ceil,
    by_direction,  ///< until version 10: down, but up where the axis shrinks
  };
  Mode mode = Mode::nearest;
  std::string coordinates = "asymmetric";
  Rounding rounding = Rounding::by_direction;
  bool antialias = false;
  bool exclude_outside = false;
  double cubic_a = -0.75;
  double extrapolation = 0;

  bool crops() const { return coordinates == "tf_crop_and_resize"; }
};

struct SampledAxis {
  std::int64_t size = 0, new_size = 0;
  double scale = 1;
  double begin = 0, end = 1;  ///< the region of tf_crop_and_resize
};

/// What one position of the new axis takes from the old one: elements without repetition, weights other than 0.
struct Taps {
  bool outside = false;  ///< of what tf_crop_and_resize may look at
  std::vector<std::int64_t> from;
  std::vector<double> weights;
};
using TapTable = std::vector<Taps>;

/// Nullopt when the table would be too large.
std::optional<TapTable> tap_table(const SampledAxis& axis, const SamplingRules& rules);
bool same_samples(const TapTable& a, const TapTable& b, double tolerance);
/// Nearest by `rules` takes the same elements as version 10 with this scale, whatever the size.
bool nearest_as_version_10(double scale, const SamplingRules& rules);
/// New sizes are computed in single precision, in which 10 * 0.7 is 7. Nullopt when out of range.
std::optional<std::int64_t> scaled_size(std::int64_t size, float scale);

}  // namespace onnxkit::opset
