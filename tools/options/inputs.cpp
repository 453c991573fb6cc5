#include "tools/options/inputs.h"

#include <CLI/CLI.hpp>
#include <filesystem>

namespace onnxkit::tools {

namespace fs = std::filesystem;

void add_inputs(CLI::App& command, InputOptions& options) {
  command
      .add_option(
          "--input,-i", options.inputs,
          "NAME=FILE (.npy, .pb, PNG, JPEG), or a .npz file or a folder with input_0.pb ...; may be repeated. Inputs "
          "that get nothing are made up")
      ->type_name("WHAT")
      ->allow_extra_args(false);
  command.add_flag("--given-only", options.given_only, "Make no input up: one that gets nothing is an error");
  command
      .add_option("--image-size", options.image_size,
                  "Size that pictures are brought to; by default what the input declares")
      ->type_name("HEIGHT WIDTH")
      ->expected(2);
  command.add_option("--layout", options.layout, "Order of a picture's axes")->check(CLI::IsMember({"nchw", "nhwc"}));
  command.add_option("--mean", options.image.mean, "Taken from each channel of a picture, after scaling to 0..1")
      ->type_name("X...");
  command.add_option("--std", options.image.std, "What each channel is then divided by")->type_name("X...");
}

Result<std::vector<NamedValue>> read_given(const Model& model, const std::vector<std::string>& words,
                                           const InputOptions& options) {
  ImageOptions image = options.image;
  image.channels_last = options.layout == "nhwc";
  if (options.image_size.size() == 2) {
    image.height = options.image_size[0];
    image.width = options.image_size[1];
  }
  std::vector<NamedValue> given;
  const auto add = [&](NamedValue value) -> Result<void> {
    for (const NamedValue& other : given) {
      if (other.name == value.name) return make_error("usage", "two values for input " + quote(value.name));
    }
    given.push_back(std::move(value));
    return {};
  };
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || fs::exists(word)) {
      auto values = read_inputs(model, word);
      if (!values) return values.error();
      for (NamedValue& value : *values) {
        if (auto added = add(std::move(value)); !added) return added.error();
      }
      continue;
    }
    const std::string name = word.substr(0, equals);
    auto value = read_input(model, name, word.substr(equals + 1), image);
    if (!value) return value.error();
    if (auto added = add({name, *std::move(value)}); !added) return added.error();
  }
  return given;
}

}  // namespace onnxkit::tools
