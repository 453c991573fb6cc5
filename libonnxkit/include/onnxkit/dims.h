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
  /// New names of axes; keys are INPUT[AXIS].
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

}  // namespace onnxkit
