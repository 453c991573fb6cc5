#pragma once

#include <optional>
#include <vector>

#include "converters/opset/engine/step.h"

// Choices and comparisons in older operators, exact for every number, infinities and NaN included.
namespace onnxkit::opset {

/// Where for opset 8 and below, of elements of `type`; text and reals need the sizes of the result.
ValueId select(Step& step, ValueId condition, ValueId yes, ValueId no, ElementType type,
               const std::optional<std::vector<std::int64_t>>& sizes);
/// Rounded to whole numbers, halves to the even one; a zero may have the other sign. From opset 7 on.
ValueId rounded(Step& step, ValueId x, ElementType type);
/// True where x, of reals, is a number. From opset 7 on.
ValueId is_number(Step& step, ValueId x, ElementType type);

}  // namespace onnxkit::opset
