#pragma once

#include <functional>
#include <optional>
#include <span>

#include "libonnxkit/plan/compose.h"

// Values between the elements of a tensor, at positions that the run tells: which elements points take along each axis, and sums of rows by weights.
namespace onnxkit::plan {

/// What points take along one axis: the same number of elements each.
struct Taps {
  std::int64_t size = 0;  ///< elements of the axis
  View
      places;  ///< int64 [taps, points...]; negative: none, and less than -1 any, whatever other axes say: the weight is NaN
  View weights;  ///< the same
};

/// What is computed of a tap.
enum class TapPart : std::uint8_t { place, weight };
/// Writes a part of a tap, as float64: coordinates of the point, and the number of the tap.
using WriteTap =
    std::function<Expression::Number(Expression&, std::span<const Expression::Number>, Expression::Number, TapPart)>;
/// `count` taps along an axis of `size` elements. The coordinates broadcast to the sizes of the points; `weight` is float32 or float64.
Taps taps_along(LowerCall& call, std::int64_t size, std::int64_t count, std::span<const View> coordinates,
                const Dims& points, ElementType weight, const WriteTap& write);

/// What all taps of a point have in common; views broadcast to the sizes of the points.
struct SampledPoints {
  Dims dims;
  /// int64: the row of the data where the elements of the point begin; behind the last row: the run ends with an error.
  std::optional<View> first = {};
  std::optional<View> factor = {};  ///< of the weights
  std::int64_t rows = 0;            ///< of the data, where `first` is given
};
/// What a point takes of the lower one of two neighbours, or of the other one; it lies `rest` behind the lower one.
Expression::Number linear_weight(Expression& e, Expression::Number rest, Expression::Number is_low);
/// The places of all combinations of taps of the axes, the outer axis first: int64 [taps, points...]. Negative: none.
View joined_places(LowerCall& call, std::span<const Taps> axes, const SampledPoints& points);
/// output [outer, points, columns] = the sums, or the greatest, of rows of data [outer, rows, columns] times weights.
void sample_rows(LowerCall& call, const View& data, std::span<const Taps> axes, const SampledPoints& points,
                 const View& output, bool takes_greatest = false);
/// Pixels of images [n, c, h, w] as rows [1, n * h * w, c], channels side by side.
View rows_of_pixels(LowerCall& call, const View& images);
/// Why so many taps of so many points are too much for a plan, if they are.
Unlowered many_taps(std::int64_t taps, std::int64_t points);

}  // namespace onnxkit::plan
