#pragma once

#include <string>
#include <vector>

#include "onnxkit/diff.h"

namespace onnxkit::tools {

/// A table of the backends that are there, then why others are not.
std::string backends_text(const std::vector<BackendInfo>& backends);

/// docs/json/backends.schema.json.
std::string backends_json(const std::vector<BackendInfo>& backends);

}  // namespace onnxkit::tools
