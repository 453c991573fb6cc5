#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::cuda {

/// Gives images of few channels, as pictures are, channels of zeros up to what tensor cores take at once, and the weights that meet them likewise,
/// before convolutions with constant weights: engines without tensor cores are several times slower. float32 has them where TF32 is allowed. Returns
/// the steps that write the zeros: nobody else writes there, so they are for the time when the memory is new.
Result<std::vector<plan::Step>> pad_channels(plan::Plan& plan, bool allows_tf32);

}  // namespace onnxkit::cuda
