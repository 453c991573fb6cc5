#pragma once

#include <optional>
#include <span>

#include "onnxkit/value.h"

namespace onnxkit::plan {

/// Elements as [groups][rows][channels][inner]: those of one channel of a group share a factor.
struct ChannelOrder {
  std::int64_t groups = 1, rows = 1, channels = 1, inner = 1;
};

/// The tensor of float32 or float64 times the factor of each element's channel, [groups][channels] of them: computed in double, rounded once. Nothing
/// when an element is not finite behind that, or when all of a channel become so small that they lose digits. Precondition: the order fits the size.
std::optional<Tensor> scaled_channels(const Tensor& content, std::span<const double> factors,
                                      const ChannelOrder& order);

}  // namespace onnxkit::plan
