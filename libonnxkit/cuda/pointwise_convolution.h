#pragma once

#include <optional>

#include "libonnxkit/plan/steps.h"

namespace onnxkit::cuda {

/// A convolution with a kernel of 1 x 1 that reads each pixel once, as a product of the same memory with the same epilogue: the pixels of all pictures, or
/// of each, times [c, m]. Nothing for other steps, and where the pixels of a picture do not lie at equal distances.
std::optional<plan::Step> as_product(const plan::Step& step);

}  // namespace onnxkit::cuda
