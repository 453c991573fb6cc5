#pragma once

#include <string>
#include <vector>

namespace onnxkit::tools {

/// For each path its last components, as many as tell it from the other paths: "v1/model.onnx" and "v2/model.onnx". Equal paths stay equal.
std::vector<std::string> short_paths(const std::vector<std::string>& paths);

}  // namespace onnxkit::tools
