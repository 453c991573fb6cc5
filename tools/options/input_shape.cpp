#include "tools/options/input_shape.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace onnxkit::tools {

void add_input_shapes(CLI::App& command, std::vector<std::string>& texts) {
  command
      .add_option(
          "--input-shape", texts,
          "Sizes of an input, as x=N,3,224,224; names stay open. Inputs of a TorchScript model, which has no sizes of "
          "its own but those that the trace was recorded with, may have their type, too: tokens=1,128:int64; "
          "may be repeated")
      ->type_name("NAME=SIZES")
      ->allow_extra_args(false);
}

namespace {

/// "1,3,N"
std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

}  // namespace

std::string read_input_shapes(const std::vector<std::string>& texts, ReadOptions& options) {
  for (const std::string& text : texts) {
    const std::size_t split = text.find('=');
    if (split == std::string::npos || split == 0)
      return fmt::format("--input-shape: {} is not NAME=SIZES", quote(text));
    std::string_view sizes = std::string_view(text).substr(split + 1);
    InputShape shape;
    if (const std::size_t colon = sizes.find(':'); colon != sizes.npos) {
      const auto type = element_type_named(sizes.substr(colon + 1));
      if (!type) return fmt::format("--input-shape: {} is not an element type", quote(sizes.substr(colon + 1)));
      shape.type = *type;
      sizes = sizes.substr(0, colon);
    }
    shape.sizes = parts_of(sizes);
    options.input_shapes.insert_or_assign(text.substr(0, split), std::move(shape));
  }
  return {};
}

void add_values(CLI::App& command, std::vector<std::string>& texts) {
  command
      .add_option("--set", texts,
                  "Value of an argument of a TorchScript model that is not a tensor, or of an attribute of its module: "
                  "rate=16000, size=3,4, mode=fast, exact=true; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

std::string read_values(const std::vector<std::string>& texts, ReadOptions& options) {
  for (const std::string& text : texts) {
    const std::size_t split = text.find('=');
    if (split == std::string::npos || split == 0) return fmt::format("--set: {} is not NAME=VALUE", quote(text));
    options.values.insert_or_assign(text.substr(0, split), text.substr(split + 1));
  }
  return {};
}

}  // namespace onnxkit::tools
