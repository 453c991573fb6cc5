#pragma once

#include <filesystem>

#include "libonnxkit/ir/model.h"
#include "onnxkit/convert.h"
#include "onnxkit/result.h"

// Weights of a file without a network, put into a model that has one.
namespace onnxkit::weights {

/// As onnxkit::load_weights.
Result<WeightsReport> load_weights(ir::Model& model, const std::filesystem::path& file, const WeightsOptions& options);

}  // namespace onnxkit::weights
