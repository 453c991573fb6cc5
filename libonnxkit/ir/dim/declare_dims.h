#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "onnxkit/dims.h"
#include "onnxkit/result.h"

namespace onnxkit::ir {
struct Model;
}

namespace onnxkit::ir {

/// What reports show for an axis of an input that has neither size nor name: "x_dim0".
std::string anonymous_dim(std::string_view input, std::size_t axis);

/// As onnxkit::declare_dims.
Result<std::map<std::string, std::int64_t>> declare_dims(Model& model, const DimSettings& settings,
                                                         DeclaredSizes declared);

}  // namespace onnxkit::ir
