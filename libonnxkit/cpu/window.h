#pragma once

#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/plan/view.h"

namespace onnxkit::cpu {

/// The window of a convolution or pooling between two images [n, c, h, w] whose channels lie side by side.
Window window_of(const plan::View& from, const plan::View& to, const plan::Dims& kernel, const plan::Dims& strides,
                 const plan::Dims& dilations, const plan::Dims& pads);

}  // namespace onnxkit::cpu
