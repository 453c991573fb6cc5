#pragma once

#include <cstdint>
#include <optional>

#include "converters/opset/engine/step.h"

namespace onnxkit::opset {

/// How many elements a sequence has, where `count` is what SequenceLength gives of one whose elements are known one by one.
std::optional<std::int64_t> known_sequence_length(Step& step, ValueId count);

}  // namespace onnxkit::opset
