#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::cuda {

/// Convolutions that write another order than that of cuDNN, which puts the channels of a pixel side by side, write a value in that order, which is copied:
/// faster than a generated kernel for what cuDNN does not take. Those that are products stay. Buffers get new places.
void channels_last_outputs(plan::Plan& plan);

}  // namespace onnxkit::cuda
