#pragma once

#include <cstdint>
#include <optional>

#include "onnxkit/value.h"

namespace onnxkit::plan {

/// The only element of a tensor of integers or booleans, 1 for true. Nothing of other values.
std::optional<std::int64_t> integer_in(const Value& value);

}  // namespace onnxkit::plan
