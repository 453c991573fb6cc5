#pragma once

#include <filesystem>
#include <vector>

#include "onnxkit/dims.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// What inference may be told from outside.
struct InferenceOptions {
  DimSettings dims;
  std::vector<std::filesystem::path> schemas;
};

/// Whether `--dim` takes INPUT[AXIS]=NAME, too, and OLD_NAME=NAME.
enum class DimNames : std::uint8_t { none, given, given_to_all };

/// `--dim NAME=SIZE`, repeatable.
void add_dims(CLI::App& command, DimSettings& dims, DimNames names);

/// `--schemas FILE`, repeatable.
void add_schemas(CLI::App& command, std::vector<std::filesystem::path>& schemas);

/// `--dim NAME=SIZE` and `--schemas FILE`, both repeatable.
void add_inference(CLI::App& command, InferenceOptions& options, DimNames names = DimNames::none);

}  // namespace onnxkit::tools
