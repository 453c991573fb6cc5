#pragma once

#include <string>

#include "onnxkit/infer.h"

namespace onnxkit::tools {

/// Infers the model, which came from `path`. Entries that the nodes contradict are replaced, and warnings. Errors: those of infer.
Result<InferReport> infer_model(Model& model, const std::string& path, const InferOptions& options);

/// Without an error among the findings.
bool is_sound(const InferReport& report);

}  // namespace onnxkit::tools
