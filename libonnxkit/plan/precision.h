#pragma once

#include "libonnxkit/plan/plan.h"
#include "onnxkit/result.h"

// What the numbers of a plan are stored and computed in. The plan has its steps already; its buffers get new places.
namespace onnxkit::plan {

/// A tensor of real numbers in another type, rounded where that holds less.
Result<Tensor> in_type(const Tensor& tensor, ElementType type);

/// float16, bfloat16 and float32 become float64: all buffers, constants, expressions, inputs and outputs, but for large constants, which steps convert
/// when they read them. Without `rounds` an expression that rounds to one of these types keeps its number. Host steps get and give float64, as an
/// unrounded run of the reference does.
Result<void> widen(Plan& plan, bool rounds);

/// float32 between steps, and the weights, become `type`, float16 or bfloat16. Inputs, outputs and what host steps read and write stay as they are.
Result<void> narrow(Plan& plan, ElementType type);

}  // namespace onnxkit::plan
