#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::cpu {

/// Small constants of float16 and bfloat16 that maps and epilogues read become float32: runs need not convert them, and epilogues of float32 are
/// part of kernels.
void widen_constants(plan::Plan& plan);

}  // namespace onnxkit::cpu
