#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::cuda {

/// Makes masks of attention that only the run tells fit for cuDNN, whose fused attention does not say what a query gets that sees no key, and may
/// overflow on the lowest numbers. Finite ones become no less than -1e30, which hides a key as well. Where a row may have nothing but minus infinity its
/// greatest number is computed, once for all attentions of a mask, and a map behind the attention writes 0 there.
void guard_masks(plan::Plan& plan);

}  // namespace onnxkit::cuda
