#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "onnxkit/result.h"

namespace onnxkit::ir {
struct Model;
}

namespace onnxkit::api {

/// Error "unknown-dimension" when a name that is to be fixed occurs in no declared shape of the model: a misspelt name would leave the size
/// open that was meant.
std::optional<Error> unknown_dimension(const ir::Model& model, const std::map<std::string, std::int64_t>& sizes);

}  // namespace onnxkit::api
