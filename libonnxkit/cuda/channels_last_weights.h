#pragma once

#include "libonnxkit/plan/plan.h"
#include "onnxkit/result.h"

namespace onnxkit::cuda {

/// Constant weights of convolutions get the channels of each tap side by side, as cuDNN reads them beside images of that order. What else reads them
/// sees the old ones.
Result<void> channels_last_weights(plan::Plan& plan);

}  // namespace onnxkit::cuda
