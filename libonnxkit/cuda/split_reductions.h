#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::cuda {

/// A reduction of many numbers to few results becomes two: of parts, which keep a whole GPU busy, and of what these leave. Sums of parts are float64.
void split_reductions(plan::Plan& plan);

}  // namespace onnxkit::cuda
