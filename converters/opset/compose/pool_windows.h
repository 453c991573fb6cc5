#pragma once

#include <cstdint>
#include <vector>

#include "converters/opset/engine/step.h"

namespace onnxkit::opset {

/// One image axis under a pool of known sizes: for each window the elements that it covers, without those in the padding.
using WindowsOfAxis = std::vector<std::vector<std::int64_t>>;

/// MaxPool with its indices in operators of opset 7: Gather lays the windows out, ArgMax finds the place in each. Writes both outputs of the node.
void greatest_of_windows(Step& step, const std::vector<WindowsOfAxis>& axes, const std::vector<std::int64_t>& images,
                         bool column_major);

}  // namespace onnxkit::opset
