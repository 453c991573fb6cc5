#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::cuda {

/// Gives images of few channels, as pictures are, channels of zeros up to `multiple`, and the weights that meet them likewise, before convolutions with
/// constant weights: tensor cores take no less, and the engines without are several times slower. Of the types that `is_padded` names.
Result<void> pad_channels(plan::Plan& plan, bool (*is_padded)(ElementType type), std::int64_t multiple);

}  // namespace onnxkit::cuda
