#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::cuda {

/// Gives images of few channels, as pictures are, channels of zeros up to `multiple`, and the weights that meet them likewise, before convolutions with
/// constant weights: tensor cores take no less, and the engines without are several times slower. Of the types that `is_padded` names.
/// Adds to `once` the steps that write the zeros: nobody else writes there, so they are for the time when the memory is new.
Result<void> pad_channels(plan::Plan& plan, bool (*is_padded)(ElementType type), std::int64_t multiple,
                          std::vector<plan::Step>& once);

}  // namespace onnxkit::cuda
