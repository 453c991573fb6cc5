#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit::tools {

struct BackendWord {
  std::string name;
  std::map<std::string, std::string> options;
};

/// NAME:OPTION=VALUE:... Error usage.
Result<BackendWord> parse_backend(const std::string& word);

/// BACKEND:FILE or BACKEND:OPTION=VALUE:...:FILE as backend and file; an existing file with a colon in its name is a file.
std::pair<std::string, std::string> split_model(const std::string& word);

/// What runs ONNX models when nobody names a backend: the reference and ONNX Runtime one model, the reference several.
std::vector<std::string> usual_backends(std::size_t models);

/// What reports call a backend with its options: "onnxruntime optimization=none".
std::string label_of(const std::string& backend, const std::map<std::string, std::string>& options);

/// The parts of `text` between the places of `at`.
std::vector<std::string> split(std::string_view text, char at);

}  // namespace onnxkit::tools
