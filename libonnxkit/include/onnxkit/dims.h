#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit {

/// What is said of a model's dimensions from outside. A key is the name of a dimension, INPUT[AXIS] with an input of the main graph, or what
/// reports show for an axis of an input that has neither size nor name ("x_dim0").
struct DimSettings {
  std::map<std::string, std::int64_t> sizes = {};
  /// New names of axes or dimensions; keys are INPUT[AXIS], or the name of a dimension, which is renamed wherever it occurs.
  std::map<std::string, std::string> names = {};
};

enum class DeclaredSizes : std::uint8_t {
  keep,     ///< another size for an axis that declares one is an error
  replace,  ///< it gives way, and with it the declared shapes that follow from it: those of outputs and value_info
};

/// Declares at the inputs what is set for their axes. What remains are the sizes of named dimensions, for InferOptions::dims and the like;
/// keys that the model does not have are among them. Errors: unknown-dimension (an axis that an input does not have), usage (a declared size
/// that is kept).
ONNXKIT_API Result<std::map<std::string, std::int64_t>> declare_dims(Model& model, const DimSettings& settings,
                                                                     DeclaredSizes declared);

/// Declares the shapes of inputs, for models whose files state them, too; other declared sizes give way, and declared shapes that follow from
/// inputs are forgotten. Errors: unknown-input, usage (another rank or element type than the input's, a size that is neither number nor name).
ONNXKIT_API Result<void> declare_shapes(Model& model, const std::map<std::string, InputShape>& shapes);

/// What the model declares of its inputs that are tensors with a shape, by their places ("0", "1" ...), as ReadOptions::input_shapes takes it. A size
/// without a name gets one.
ONNXKIT_API std::map<std::string, InputShape> input_shapes(const Model& model);

/// Declares the sizes of named dimensions at the inputs that have them, so that what is written has them, too.
ONNXKIT_API void fix_named_dims(Model& model, const std::map<std::string, std::int64_t>& sizes);

}  // namespace onnxkit
