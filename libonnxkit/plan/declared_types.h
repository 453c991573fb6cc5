#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::plan {

/// Values of float16 and bfloat16, which lowerings hold as float32, are stored in the type that the model gives them; what a node computes in between
/// stays float32. Buffers get new places.
void use_declared_types(Plan& plan);

}  // namespace onnxkit::plan
