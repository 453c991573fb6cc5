#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "converters/formats/aten/lower.h"

// Windows of convolutions and pools, and the padding that ATen lacks.
namespace onnxkit::aten {

struct Window {
  std::vector<std::int64_t> kernel, strides, dilations, begins, ends;
};

/// Of a convolution whose weight is input `weight`, or of a pool (0) with the attribute kernel_shape. auto_pad becomes pads, which needs sizes that
/// are known where the padding depends on them; else it is refused.
Window window_of(WriteCall& call, std::size_t spatial, std::size_t weight);

/// The input, padded with a value where the two sides of an axis differ, and the padding that is left for the operator.
std::pair<ValueId, std::vector<std::int64_t>> padded(WriteCall& call, ValueId x, const Window& window, double value);

/// Padding in ATen's order (last axis first, before and after) with a constant.
ValueId constant_pad(WriteCall& call, ValueId x, const std::vector<std::int64_t>& begins,
                     const std::vector<std::int64_t>& ends, double value);

}  // namespace onnxkit::aten
