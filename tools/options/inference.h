#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// What inference may be told from outside.
struct InferenceOptions {
  std::map<std::string, std::int64_t> dims;
  std::vector<std::filesystem::path> schemas;
};

/// `--dim NAME=SIZE` and `--schemas FILE`, both repeatable.
void add_inference(CLI::App& command, InferenceOptions& options);

}  // namespace onnxkit::tools
