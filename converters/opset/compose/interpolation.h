#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "converters/opset/engine/step.h"

// Images interpolated at computed positions, in operators that have always been there: floor, products and Gather. Positions are float64.
namespace onnxkit::opset {

enum class Interpolation : std::uint8_t { nearest, linear, cubic };
enum class Outside : std::uint8_t { zeros, border, reflection };

struct InterpolationRules {
  Interpolation mode = Interpolation::linear;
  Outside outside = Outside::zeros;
  bool mirrors_at_centres = false;       ///< of the outer elements; else at their outer edges
  bool leaves_out_zero_weights = false;  ///< what gets no weight does not count, infinities included
  bool greatest = false;                 ///< the greatest of the weighted neighbours, not their sum
};

/// Sizes of an image [N, C, d1, ..., dr] as float64 scalars, constants where known.
std::vector<ValueId> image_lengths(Step& step, ValueId shape, std::size_t axes, const checker::Shape* known);

/// 0, 1, ..., N - 1 for the images of [N, C, d1, ..., dr], as interpolate takes them. `count`: N where it is known, else -1.
ValueId each_image(Step& step, ValueId image, std::int64_t count, std::size_t axes);

/// image [N, C, d1, ..., dr] of type `type`, positions [M, P] for each axis in elements, numbers of images [M, 1, ..., 1] of rank r + 2 and
/// float64: [M, P, C]. With linear and cubic rules image and result are float64.
ValueId interpolate(Step& step, ValueId image, ElementType type, ValueId images, const std::vector<ValueId>& lengths,
                    const std::vector<ValueId>& positions, const InterpolationRules& rules);

}  // namespace onnxkit::opset
