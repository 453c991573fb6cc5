#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "onnxkit/result.h"

namespace onnxkit::ir {
struct Model;
}

namespace onnxkit::ir {

/// Names that are to be fixed and occur in no declared shape of the model, each with an error "unknown-dimension": a misspelt name would
/// leave the size open that was meant.
std::map<std::string, Error> unknown_dimensions(const ir::Model& model,
                                                const std::map<std::string, std::int64_t>& sizes);
/// The first of those.
std::optional<Error> unknown_dimension(const ir::Model& model, const std::map<std::string, std::int64_t>& sizes);

}  // namespace onnxkit::ir
