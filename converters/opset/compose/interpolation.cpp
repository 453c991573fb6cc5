#include "converters/opset/compose/interpolation.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

constexpr ElementType real_type = ElementType::float64;

/// The neighbours of the positions along one axis: [N, P, 1, ..., T, ..., 1], T at its axis.
struct AxisTaps {
  ValueId index = ValueId::none;   ///< whole, inside the image
  ValueId inside = ValueId::none;  ///< the neighbour is an element
  ValueId weight = ValueId::none;
};

class Interpolator {
 public:
  Interpolator(Step& step, const std::vector<ValueId>& lengths, const InterpolationRules& rules)
      : step_(step), lengths_(lengths), rules_(rules), one_(step.number(real_type, 1, "one")) {}

  AxisTaps taps(std::size_t axis, ValueId positions) {
    List spread(lengths_.size());
    std::iota(spread.begin(), spread.end(), 2);
    const ValueId at = unsqueeze(step_, positions, spread, "at");
    if (rules_.mode == Interpolation::nearest) return inside_image(axis, step_.add("Round", {at}, {}, "nearest"));
    const std::vector<double> offsets =
        rules_.mode == Interpolation::linear ? std::vector<double>{0, 1} : std::vector<double>{-1, 0, 1, 2};
    const ValueId floor = step_.add("Floor", {at}, {}, "floor");
    const ValueId index = step_.add("Add", {floor, along(axis, offsets, "offsets")}, {}, "neighbours");
    AxisTaps taps = inside_image(axis, index);
    const ValueId rest = step_.add("Sub", {at, floor}, {}, "rest");
    taps.weight = rules_.mode == Interpolation::linear
                      ? weighed(axis, rest, {1, 0}, {-1, 1}, "weight")
                      : cubic_weight(axis, weighed(axis, rest, {1, 0, 1, 2}, {1, 1, -1, -1}, "distance"));
    return taps;
  }

 private:
  ValueId along(std::size_t axis, const std::vector<double>& values, std::string_view hint) {
    List dims(lengths_.size(), 1);
    dims[axis] = static_cast<std::int64_t>(values.size());
    return step_.numbers(real_type, dims, values, hint);
  }

  /// start + slope * rest for each of the neighbours.
  ValueId weighed(std::size_t axis, ValueId rest, const std::vector<double>& start, const std::vector<double>& slope,
                  std::string_view hint) {
    const ValueId change = step_.add("Mul", {rest, along(axis, slope, "slope")}, {}, "change");
    return step_.add("Add", {change, along(axis, start, "start")}, {}, hint);
  }

  /// Keys' convolution with a = -0.75: one polynomial for the inner, one for the outer neighbours.
  ValueId cubic_weight(std::size_t axis, ValueId distance) {
    constexpr double a = -0.75;
    const ValueId cubes = along(axis, {a, a + 2, a + 2, a}, "cubes"),
                  squares = along(axis, {-5 * a, -(a + 3), -(a + 3), -5 * a}, "squares"),
                  linear = along(axis, {8 * a, 0, 0, 8 * a}, "linear"),
                  constant = along(axis, {-4 * a, 1, 1, -4 * a}, "constant");
    ValueId sum = step_.add("Add", {step_.add("Mul", {distance, cubes}), squares});
    sum = step_.add("Add", {step_.add("Mul", {sum, distance}), linear});
    return step_.add("Add", {step_.add("Mul", {sum, distance}), constant}, {}, "weight");
  }

  ValueId last(std::size_t axis) { return step_.add("Sub", {lengths_[axis], one_}, {}, "last"); }

  ValueId clamped(std::size_t axis, ValueId index) {
    const ValueId bounded = step_.add("Min", {index, last(axis)});
    return step_.add("Max", {bounded, step_.number(real_type, 0, "zero")}, {}, "clamped");
  }

  ValueId reflected(std::size_t axis, ValueId index) {
    const ValueId span = rules_.mirrors_at_centres ? last(axis) : lengths_[axis];
    const ValueId low = step_.number(real_type, rules_.mirrors_at_centres ? 0 : -0.5, "low");
    const ValueId period = step_.add("Max", {step_.add("Add", {span, span}), one_}, {}, "period");
    const ValueId away = step_.add("Abs", {step_.add("Sub", {index, low})}, {}, "away");
    const ValueId rest = step_.add("Mod", {away, period}, {{"fmod", std::int64_t{1}}}, "rest");
    const ValueId over = step_.add("Abs", {step_.add("Sub", {rest, span})}, {}, "over");
    return step_.add("Add", {step_.add("Sub", {span, over}), low}, {}, "reflected");
  }

  AxisTaps inside_image(std::size_t axis, ValueId index) {
    AxisTaps taps;
    if (rules_.outside == Outside::zeros) {
      taps.inside = step_.add(
          "And",
          {step_.add("Greater", {index, step_.number(real_type, -1)}), step_.add("Less", {index, lengths_[axis]})}, {},
          "inside");
    } else {
      const ValueId infinity = step_.number(real_type, std::numeric_limits<double>::infinity(), "infinity");
      taps.inside = step_.add("Less", {step_.add("Abs", {index}), infinity}, {}, "finite");
      index = clamped(axis, rules_.outside == Outside::border ? index : reflected(axis, index));
    }
    taps.index = step_.add("Where", {taps.inside, index, step_.number(real_type, 0, "zero")}, {}, "element");
    return taps;
  }

  Step& step_;
  const std::vector<ValueId>& lengths_;
  const InterpolationRules& rules_;
  const ValueId one_;
};

}  // namespace

std::vector<ValueId> image_lengths(Step& step, ValueId shape, std::size_t axes, const checker::Shape* known) {
  std::vector<ValueId> lengths;
  for (std::size_t i = 0; i < axes; ++i) {
    if (known && known->size() == axes + 2 && (*known)[i + 2].is_constant()) {
      lengths.push_back(step.number(real_type, static_cast<double>((*known)[i + 2].constant()), "length"));
      continue;
    }
    const ValueId length = step.add("Gather", {shape, step.scalar(static_cast<std::int64_t>(i) + 2)}, {}, "length");
    lengths.push_back(step.add("Cast", {length}, {{"to", static_cast<std::int64_t>(real_type)}}, "length"));
  }
  return lengths;
}

ValueId each_image(Step& step, ValueId image, std::int64_t count, std::size_t axes) {
  List dims(axes + 2, 1);
  if (count >= 0) {
    dims[0] = count;
    storable_count(dims);
    std::vector<double> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0.0);
    return step.numbers(real_type, dims, numbers, "images");
  }
  dims[0] = -1;
  const ValueId computed = step.add("Gather", {step.add("Shape", {image}), step.scalar(0)}, {}, "count");
  const ValueId range = step.add("Range", {step.scalar(0), computed, step.scalar(1)}, {}, "images");
  return reshape(step, step.add("Cast", {range}, {{"to", static_cast<std::int64_t>(real_type)}}), dims, "images");
}

ValueId interpolate(Step& step, ValueId image, ElementType type, ValueId images, const std::vector<ValueId>& lengths,
                    const std::vector<ValueId>& positions, const InterpolationRules& rules) {
  const auto axes = static_cast<std::int64_t>(lengths.size());
  Interpolator reader(step, lengths, rules);
  ValueId flat = images, inside = ValueId::none, weight = ValueId::none;
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    const AxisTaps taps = reader.taps(axis, positions[axis]);
    flat = step.add("Add", {step.add("Mul", {flat, lengths[axis]}), taps.index}, {}, "place");
    inside = axis == 0 ? taps.inside : step.add("And", {inside, taps.inside}, {}, "inside");
    if (taps.weight != ValueId::none)
      weight = axis == 0 ? taps.weight : step.add("Mul", {weight, taps.weight}, {}, "weight");
  }
  if (rules.leaves_out_zero_weights) {
    const ValueId zero = step.number(real_type, 0, "zero");
    inside = step.add("And", {inside, step.add("Greater", {weight, zero})}, {}, "counts");
    weight = step.add("Where", {inside, weight, zero}, {}, "weight");
  }
  const ValueId channels_last =
      step.add("Transpose", {reshape(step, image, {0, 0, -1}, "planes")}, {{"perm", List{0, 2, 1}}}, "channels_last");
  const ValueId rows = step.add("Flatten", {channels_last}, {{"axis", std::int64_t{2}}}, "elements");
  const ValueId index = step.add("Cast", {flat}, {{"to", static_cast<std::int64_t>(ElementType::int64)}}, "index");
  const ValueId seen = step.add("Gather", {rows, index}, {{"axis", std::int64_t{0}}}, "seen");
  const ValueId values =
      step.add("Where", {unsqueeze(step, inside, {axes + 2}), seen, step.number(type, 0, "nothing")}, {}, "values");
  List taps_axes(lengths.size());
  std::iota(taps_axes.begin(), taps_axes.end(), 2);
  if (rules.mode == Interpolation::nearest) return squeeze(step, values, taps_axes, "sampled");
  const ValueId weighted = step.add("Mul", {values, unsqueeze(step, weight, {axes + 2}, "weight")}, {}, "weighted");
  return reduce(step, rules.greatest ? "ReduceMax" : "ReduceSum", weighted, taps_axes, false, "sampled");
}

}  // namespace onnxkit::opset
