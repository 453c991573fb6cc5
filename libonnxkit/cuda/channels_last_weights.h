#pragma once

#include "libonnxkit/plan/plan.h"
#include "onnxkit/result.h"

namespace onnxkit::cuda {

/// Constant weights of convolutions get the channels of each tap side by side, as cuDNN reads them beside images of that order. What else reads them
/// sees the old ones.
Result<void> channels_last_weights(plan::Plan& plan);
/// Constant weights [filters, channels, rows, columns] in that order as a new constant, with zeros for channels behind theirs.
Result<plan::View> with_channels_last(plan::Plan& plan, const plan::View& weights, std::int64_t channels);
/// Of a dense tensor [n, c, h, w] in that order.
plan::Dims channels_last_strides_of(const plan::Dims& dims);

}  // namespace onnxkit::cuda
