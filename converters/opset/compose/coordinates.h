#pragma once

#include <cstdint>
#include <string>

#include "converters/opset/engine/step.h"

// What GatherND and ScatterND share: tuples of indices along the last axis.
namespace onnxkit::opset {

/// How many axes of the data a tuple names; refuses when it is not known.
std::int64_t coordinates_of(Step& step, ValueId data, ValueId indices);
/// The tuples as one index each, into the data with its first `count` axes made one. For opset 10.
ValueId row_of(Step& step, ValueId data, ValueId indices, std::int64_t count);
/// `old` and `update` combined by a reduction of ScatterElements and ScatterND.
ValueId reduced(Step& step, const std::string& reduction, ElementType type, ValueId old, ValueId update);
/// Updates that are applied one after the other, at the most.
inline constexpr std::int64_t most_rounds = 64;

}  // namespace onnxkit::opset
