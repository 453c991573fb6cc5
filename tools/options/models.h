#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnxkit/diagnostic.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace onnxkit::tools {

/// A model file to read ("-" is standard input), or why a word of the command line gave none.
struct ModelInput {
  std::string path;
  std::optional<Diagnostic> fault;
  /// The path below the folder that was named, or before the first wildcard; the file's name when the file itself was named.
  std::string relative = {};
};

/// The positional MODEL...: files, folders, globs, and - for standard input.
CLI::Option* add_models(CLI::App& command, std::vector<std::string>& words);

/// Which files a folder stands for.
enum class Searched : std::uint8_t { onnx, all_formats };

/// The files that the words mean, in their order. A folder that is no model itself stands for all ONNX files below it, or all in formats that are read,
/// sorted by path; a word with a wildcard that is no file's name for all that it matches.
std::vector<ModelInput> expand_models(std::span<const std::string> words, Searched searched = Searched::onnx);

}  // namespace onnxkit::tools
