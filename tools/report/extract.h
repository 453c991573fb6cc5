#pragma once

#include <string>

#include "onnxkit/extract.h"

namespace onnxkit::tools {

/// "model.onnx: 12 of 345 nodes; inputs "a", "b"", and which of these --from does not name.
std::string extract_summary(const std::string& model, const Extraction& part);
/// docs/json/extract.schema.json.
std::string extract_json(const std::string& model, const std::string& output, const Extraction& part);

}  // namespace onnxkit::tools
