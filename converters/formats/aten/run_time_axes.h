#pragma once

#include <optional>
#include <vector>

#include "converters/formats/aten/lower.h"

// Axes that only the run of the model gives. Operators of ATen take axes as constants, so each axis is treated as if it were asked for, and the result is
// chosen.
namespace onnxkit::aten {

/// Axes of a tensor of `rank` axes, given by an input while the model runs. Their number is known.
struct RunTimeAxes {
  std::vector<ValueId> hits;  ///< for each axis a boolean: whether it is among them
  std::size_t count = 0;
};

/// Refuses where the number of axes is not known.
RunTimeAxes run_time_axes(WriteCall& call, std::size_t input, std::size_t rank);
/// The sizes that are left of a tensor without these axes, in their order.
Given::Mixed sizes_without(WriteCall& call, const RunTimeAxes& axes, const Shape& sizes);
/// These sizes with ones at the axes, which are those of the longer shape.
Given::Mixed sizes_with_ones(WriteCall& call, const RunTimeAxes& axes, const Shape& sizes);

}  // namespace onnxkit::aten
