#pragma once

#include <string>
#include <vector>

#include "onnxkit/model.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// `--input-shape NAME=SIZES` or `NAME=SIZES:TYPE`, which may be repeated.
void add_input_shapes(CLI::App& command, std::vector<std::string>& texts);

/// Reads such texts; returns what is wrong with one of them, or nothing.
std::string read_input_shapes(const std::vector<std::string>& texts, ReadOptions& options);

/// `--set NAME=VALUE`, which may be repeated.
void add_values(CLI::App& command, std::vector<std::string>& texts);

/// Reads such texts, as read_input_shapes does.
std::string read_values(const std::vector<std::string>& texts, ReadOptions& options);

}  // namespace onnxkit::tools
