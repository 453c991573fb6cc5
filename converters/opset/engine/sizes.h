#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converters/opset/engine/step.h"

// Sizes in compositions: constants where inference knows them, Shape where it does not.
namespace onnxkit::opset {

/// A number of elements.
struct Size {
  std::optional<std::int64_t> known;
  ValueId computed = ValueId::none;  ///< an int64 vector of one element

  Size(std::int64_t constant) : known(constant) {}
  static Size of(ValueId vector) {
    Size size(0);
    size.known.reset();
    size.computed = vector;
    return size;
  }
};

/// What an axis of a value measures. A negative axis needs a known rank or opset 15.
Size size_of(Step& step, ValueId x, std::int64_t axis);
Size sum(Step& step, const Size& a, const Size& b);
Size difference(Step& step, const Size& a, const Size& b);
Size product(Step& step, const Size& a, const Size& b);
/// Rounded down.
Size quotient(Step& step, const Size& a, const Size& b);

/// An int64 vector of one element, a scalar, a vector of all.
ValueId as_vector(Step& step, const Size& size);
ValueId as_scalar(Step& step, const Size& size);
ValueId as_shape(Step& step, const std::vector<Size>& sizes);

/// How many axes a vector speaks of that has an entry for each; nullopt when that is not known, or more than a tensor has.
std::optional<std::int64_t> length_of_axis_list(const Step& step, ValueId vector);

/// 0, 1 ... size - 1.
ValueId count_up(Step& step, const Size& size);

ValueId reshape_to(Step& step, ValueId x, const std::vector<Size>& sizes);
ValueId transpose(Step& step, ValueId x, std::vector<std::int64_t> perm);

}  // namespace onnxkit::opset
