#include "tools/options/inference.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {
namespace {

std::map<std::string, std::int64_t> parse_dims(const std::vector<std::string>& words) {
  std::map<std::string, std::int64_t> dims;
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    const char* end = word.data() + word.size();
    std::int64_t size = -1;
    const auto parsed = equals == std::string::npos ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                                    : std::from_chars(word.data() + equals + 1, end, size);
    if (parsed.ec != std::errc() || parsed.ptr != end || size < 0 || equals == 0)
      throw CLI::ValidationError("--dim", quote(word) + " is not of the form NAME=SIZE");
    if (!dims.emplace(word.substr(0, equals), size).second)
      throw CLI::ValidationError("--dim", "two sizes for " + quote(word.substr(0, equals)));
  }
  return dims;
}

}  // namespace

void add_inference(CLI::App& command, InferenceOptions& options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--dim", [&options](const std::vector<std::string>& words) { options.dims = parse_dims(words); },
          "Size of a named dimension, such as batch=8; may be repeated")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  command
      .add_option_function<std::vector<std::string>>(
          "--schemas",
          [&options](const std::vector<std::string>& words) {
            options.schemas = {words.begin(), words.end()};
          },
          "YAML schema pack with more operators (docs/schemas.md); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

}  // namespace onnxkit::tools
