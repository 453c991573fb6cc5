#include "tools/options/inputs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "onnxkit/diagnostic.h"
#include "onnxkit/run.h"
#include "tools/model_file.h"
#include "tools/options/number.h"

namespace onnxkit::tools {

namespace fs = std::filesystem;

namespace {

/// Empty for a number.
std::string fault_of_number(const std::string& word) {
  double number = 0;
  if (CLI::detail::lexical_cast(word, number)) return {};
  return quote(word) + " is not a number; the option takes all words up to the next option, so models go before it";
}

/// Empty for a sound number.
std::string fault_of_divisor(const std::string& word) {
  if (auto fault = fault_of_number(word); !fault.empty()) return fault;
  double number = 1;
  CLI::detail::lexical_cast(word, number);
  return number > 0 && std::isfinite(number) ? "" : word + " is not positive and finite";
}

/// How pictures become tensors; nothing of it may have been asked for when there is none.
class Pictures {
 public:
  explicit Pictures(const InputOptions& options) : image_(options.image) {
    if (!options.layout.empty()) image_.channels_last = options.layout == "nhwc";
    if (options.image_size.size() == 2) {
      image_.height = options.image_size[0];
      image_.width = options.image_size[1];
    }
    was_asked_ = !image_.scale || image_.height || image_.channels_last || !image_.mean.empty() || !image_.std.empty();
  }

  const ImageOptions& image() const { return image_; }
  void note(ValueFileKind kind) { any_ = any_ || kind == ValueFileKind::picture; }
  bool are_missing() const { return was_asked_ && !any_; }

 private:
  ImageOptions image_;
  bool was_asked_ = false, any_ = false;
};

Result<NamedValue> read_one(const Model& model, const std::string& name, const std::string& path, Pictures& pictures) {
  if (path.empty()) return make_error("usage", "no file was given for input " + quote(name));
  if (path == "-") {
    auto bytes = read_standard_input();
    if (!bytes) return bytes.error();
    pictures.note(ValueFileKind::picture);  // it may be one
    auto value = read_input_bytes(model, name, *std::move(bytes), pictures.image());
    if (value) return NamedValue{name, *std::move(value)};
    Error error = value.error();
    if (error.diagnostic.location.file.empty()) error.diagnostic.location.file = standard_input_name;
    return error;
  }
  pictures.note(kind_of_value_file(path));
  auto value = read_input(model, name, path, pictures.image());
  return value ? Result<NamedValue>({name, *std::move(value)}) : value.error();
}

/// What a word without NAME= holds: all that an archive or a folder names, or the value of the only input.
Result<std::vector<NamedValue>> read_unnamed(const Model& model, const std::string& path, std::uint64_t most_bytes,
                                             Pictures& pictures) {
  const ValueFileKind kind = kind_of_value_file(path);
  const bool is_one =
      path == "-" || ((kind == ValueFileKind::value || kind == ValueFileKind::picture) && fs::exists(path));
  if (!is_one) return read_inputs(model, path, most_bytes);
  const std::vector<std::string> names = input_names(model);
  if (names.size() != 1) {
    Error error = make_error("usage", quote(path) + " contains one value: name its input as NAME=FILE");
    error.diagnostic.help = "NAME=" + path;
    return error;
  }
  auto value = read_one(model, names.front(), path, pictures);
  if (!value) return value.error();
  return std::vector<NamedValue>{*std::move(value)};
}

}  // namespace

void add_inputs(CLI::App& command, InputOptions& options) {
  command
      .add_option("--input,-i", options.inputs,
                  "NAME=FILE (.npy, .pb, PNG, JPEG; - for standard input), or a .npz file or a folder with input_0.pb "
                  "...; may be "
                  "repeated. NAME= is optional if the model has one input. Missing inputs are generated")
      ->type_name("WHAT")
      ->allow_extra_args(false);
  command.add_flag("--given-only", options.given_only, "Do not generate inputs: a missing input is an error");
  command
      .add_option("--image-size", options.image_size,
                  "Size that images are resized to; default: the input's declared size")
      ->type_name("HEIGHT WIDTH")
      ->expected(2)
      ->check(whole_between<1, 1 << 16>);
  command.add_option("--layout", options.layout, "Order of an image's axes; default: the input's declared order")
      ->type_name("nchw|nhwc")
      ->check(CLI::IsMember({"nchw", "nhwc"}));
  command.add_flag_callback(
      "--no-scale", [&options] { options.image.scale = false; },
      "Keep the pixels of an image from 0 to 255 instead of scaling them to 0..1");
  command.add_option("--mean", options.image.mean, "Subtracted from each channel of an image, after scaling to 0..1")
      ->type_name("X...")
      ->check(CLI::Validator(fault_of_number, ""));
  command.add_option("--std", options.image.std, "Divisor of each channel, after subtraction")
      ->type_name("X...")
      ->check(CLI::Validator(fault_of_divisor, ""));
}

Result<std::vector<NamedValue>> read_given(const Model& model, const std::vector<std::string>& words,
                                           const InputOptions& options) {
  Pictures pictures(options);
  std::vector<NamedValue> given;
  std::set<std::string> names;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const bool is_named = equals != std::string::npos && !fs::exists(word);
    std::vector<NamedValue> values;
    if (is_named) {
      auto value = read_one(model, word.substr(0, equals), word.substr(equals + 1), pictures);
      if (!value) return value.error();
      values.push_back(*std::move(value));
    } else {
      auto all = read_unnamed(model, word, options.memory_bytes, pictures);
      if (!all) return all.error();
      values = *std::move(all);
    }
    for (NamedValue& value : values) {
      if (!names.insert(value.name).second) return make_error("usage", "two values for input " + quote(value.name));
      given.push_back(std::move(value));
    }
  }
  if (pictures.are_missing())
    return make_error("usage",
                      "--image-size, --layout, --no-scale, --mean and --std apply to images, but no input is an image");
  return given;
}

Result<void> check_complete(const Model& model, const std::vector<RunInput>& inputs, const InputOptions& options) {
  if (!options.given_only) return {};
  const std::vector<std::string> needed = input_names(model);
  for (const RunInput& input : inputs) {
    if (input.value.kind != ValueKind::none || std::find(needed.begin(), needed.end(), input.name) == needed.end())
      continue;
    Error error = make_error("input-missing", "no value was given for the input " + quote(input.name));
    error.diagnostic.help = "without --given-only inputs that are missing are generated";
    return error;
  }
  return {};
}

}  // namespace onnxkit::tools
