#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::cuda {

/// Convolutions that read or write another order than that of cuDNN, which puts the channels of a pixel side by side and pixels at equal distances, get
/// values in that order, which are copied: faster than a generated kernel for what cuDNN does not take. Those that are products stay. Buffers get new
/// places.
void channels_last_images(plan::Plan& plan);

}  // namespace onnxkit::cuda
