#pragma once

#include "libonnxkit/plan/plan.h"

namespace onnxkit::plan {

/// In a plan of float16, products of activations and weights become products of float8e4m3fn: the rows of the activations and the columns of the
/// weights are rounded, each over a power of two of its own, and the epilogue begins with both powers. What stays float16, and why, is in `Step::stays`
/// and the plan's notes. Buffers get new places.
void use_fp8_products(Plan& plan);

}  // namespace onnxkit::plan
