#pragma once

#include "reference/executor/kernel.h"
#include "reference/executor/tensor.h"

// What the operators on quantized tensors have in common.
namespace onnxkit::reference {

/// x minus its zero point, as reals: a single one, or one for each index of `axis`; none is 0.
Tensor without_zero_point(const KernelContext& context, const Tensor& x, const Tensor* zero_point, std::int64_t axis);

/// Quotients before they are rounded to steps: in a run over edges moved by the quantizer's own errors, else as they are.
Tensor over_edges(const KernelContext& context, const Tensor& quotients, ElementType type);

/// x rounded to the nearest integer, ties to even, plus the zero point, in the range of the zero point's type; for
/// floating types x plus the zero point, rounded to the type and saturated.
Tensor quantized(const KernelContext& context, const Tensor& x, const Tensor& zero_point);

}  // namespace onnxkit::reference
