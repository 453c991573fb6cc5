#include "tools/options/inference.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>

#include "onnxkit/check.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/infer.h"

namespace onnxkit::tools {
namespace {

/// INPUT[AXIS]=NAME
bool names_axis(const std::string& key, const std::string& value, DimNames names) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const bool is_axis = key.ends_with(']') && key.find('[') != std::string::npos;
  return (is_axis || names == DimNames::given_to_all) && !value.empty() && value.front() != '-' &&
         !std::all_of(value.begin(), value.end(), is_digit);
}

DimSettings parse_dims(const std::vector<std::string>& words, DimNames names) {
  const bool with_names = names != DimNames::none;
  DimSettings dims;
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const char* end = value.data() + value.size();
    std::int64_t size = -1;
    const auto parsed = std::from_chars(value.data(), end, size);
    const bool is_size = parsed.ec == std::errc() && parsed.ptr == end && size >= 0;
    if (key.empty() || (!is_size && !(with_names && names_axis(key, value, names))))
      throw CLI::ValidationError("--dim",
                                 quote(word) + " is not of the form NAME=SIZE" +
                                     (with_names ? ", INPUT[AXIS]=SIZE or INPUT[AXIS]=NAME" : " or INPUT[AXIS]=SIZE"));
    if (dims.sizes.contains(key) || dims.names.contains(key))
      throw CLI::ValidationError("--dim", "two values for " + quote(key));
    if (is_size)
      dims.sizes.emplace(key, size);
    else
      dims.names.emplace(key, value);
  }
  return dims;
}

}  // namespace

void add_dims(CLI::App& command, DimSettings& dims, DimNames names) {
  command
      .add_option_function<std::vector<std::string>>(
          "--dim", [&dims, names](const std::vector<std::string>& words) { dims = parse_dims(words, names); },
          std::string("Size of a named dimension or of an axis of an input, such as batch=8 or x[0]=8; ") +
              (names == DimNames::given          ? "x[0]=batch names an axis, which then takes any size; "
               : names == DimNames::given_to_all ? "x[0]=batch names an axis, which then takes any size, and s77=batch "
                                                   "renames a dimension; "
                                                 : "") +
              "may be repeated")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
}

void add_schemas(CLI::App& command, std::vector<std::filesystem::path>& schemas) {
  command
      .add_option_function<std::vector<std::string>>(
          "--schemas",
          [&schemas](const std::vector<std::string>& words) {
            schemas = {words.begin(), words.end()};
          },
          "YAML schema pack with more operators (docs/schemas.md); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void add_inference(CLI::App& command, InferenceOptions& options, DimNames names) {
  add_dims(command, options.dims, names);
  add_schemas(command, options.schemas);
}

}  // namespace onnxkit::tools
