#pragma once

#include <nlohmann/json.hpp>

namespace onnxkit::tools {

/// Members in the order in which they are written.
using Json = nlohmann::ordered_json;

}  // namespace onnxkit::tools
