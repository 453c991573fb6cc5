#pragma once

#include "reference/kernel.h"

// Windows that slide over pictures [N, C, d1, ..., dn], for operators of other domains than ai.onnx: the plainest loops. The window's
// attributes are those of the node.
namespace onnxkit::reference::windows {

Tensor average_pool(const KernelContext& context, const Tensor& x, bool count_padding);
Tensor max_pool(const KernelContext& context, const Tensor& x);
/// `weight` is [M, C/group, k1, ..., kn]; `bias` is [M] or null.
Tensor convolve(const KernelContext& context, const Tensor& x, const Tensor& weight, const Tensor* bias);

}  // namespace onnxkit::reference::windows
