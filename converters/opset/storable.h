#pragma once

#include <cstdint>
#include <span>

namespace onnxkit::opset {

/// How many elements of these sizes a constant holds that a step makes. Refuses what would swell the model: sizes in a file may be any.
std::int64_t storable_count(std::span<const std::int64_t> sizes);

}  // namespace onnxkit::opset
