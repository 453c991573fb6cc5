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

/// As onnxkit::declare_shapes.
Result<void> declare_shapes(Model& model, const std::map<std::string, InputShape>& shapes);

/// As onnxkit::input_shapes.
std::map<std::string, InputShape> input_shapes(const Model& model);

/// Declares the sizes of named dimensions at the inputs; declared shapes that follow from inputs are forgotten where a name is set.
void fix_named_dims(Model& model, const std::map<std::string, std::int64_t>& sizes);

}  // namespace onnxkit::ir
