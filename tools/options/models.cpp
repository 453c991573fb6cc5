#include "tools/options/models.h"

#include <glob.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "libonnxkit/base/text/extension.h"
#include "onnxkit/model.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

/// Those that no other files have.
std::vector<std::string> searched_extensions(Searched searched = Searched::onnx) {
  std::vector<std::string> all;
  for (const FormatInfo& format : known_formats()) {
    for (const std::string& extension : format.extensions) {
      const auto& shared = format.shared_extensions;
      const bool counts = searched == Searched::onnx ? format.is_onnx : format.can_read;
      if (counts && std::find(shared.begin(), shared.end(), extension) == shared.end()) all.push_back(extension);
    }
  }
  return all;
}

/// "*.a, *.b or *.c"
std::string patterns(const std::vector<std::string>& extensions, const std::string& last) {
  std::string text;
  for (std::size_t i = 0; i < extensions.size(); ++i)
    text += (i == 0 ? "*" : i + 1 == extensions.size() ? last + "*" : ", *") + extensions[i];
  return text;
}

/// A folder that is itself a model in a format that can be read.
bool is_model(const std::string& folder) {
  const auto format = format_of_path(folder);
  return format && format->can_read;
}

ModelInput nothing(const std::string& word, std::string reason) {
  Diagnostic fault;
  fault.code = "cannot-read";
  fault.location.file = word;
  fault.message = std::move(reason);
  return {word, fault};
}

/// Searching finds regular files: a pipe would wait for a writer, a device may have no end. A file that vanished or cannot be looked at is
/// reported when it is read.
bool may_be_found(const fs::path& path) {
  std::error_code unseen;
  const fs::file_type type = fs::status(path, unseen).type();
  return type == fs::file_type::regular || type == fs::file_type::not_found || type == fs::file_type::none;
}

void add_folder(std::vector<ModelInput>& inputs, const std::string& word, Searched which) {
  const std::vector<std::string> searched = searched_extensions(which);
  std::vector<std::string> found;
  std::error_code status;
  fs::recursive_directory_iterator at(word, fs::directory_options::skip_permission_denied, status);
  for (; !status && at != fs::recursive_directory_iterator(); at.increment(status)) {
    const std::string extension = lower_extension(at->path());
    if (std::find(searched.begin(), searched.end(), extension) != searched.end() && may_be_found(at->path()))
      found.push_back(at->path().string());
  }
  if (status) return inputs.push_back(nothing(word, "cannot read this folder"));
  if (found.empty())
    return inputs.push_back(nothing(word, "no " + patterns(searched, " or ") + " file in this folder"));
  std::sort(found.begin(), found.end());
  for (std::string& path : found) {
    std::string relative = fs::path(path).lexically_relative(word).string();
    inputs.push_back({std::move(path), {}, std::move(relative)});
  }
}

void add_matches(std::vector<ModelInput>& inputs, const std::string& word) {
  glob_t matches{};
  const std::string plain = word.substr(0, word.find_first_of("*?["));
  const std::string folder = plain.substr(0, plain.rfind('/') + 1);
  const std::size_t before = inputs.size();
  if (::glob(word.c_str(), 0, nullptr, &matches) == 0) {
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) {
      std::string path = matches.gl_pathv[i];
      std::error_code unseen;
      if (!may_be_found(path) && !fs::is_directory(path, unseen)) continue;
      std::string relative = path.substr(folder.size());
      inputs.push_back({std::move(path), {}, std::move(relative)});
    }
  }
  if (inputs.size() == before) inputs.push_back(nothing(word, "no file matches this pattern"));
  ::globfree(&matches);
}

}  // namespace

CLI::Option* add_models(CLI::App& command, std::vector<std::string>& words) {
  return command
      .add_option("MODEL", words,
                  "Model files, folders (all " + patterns(searched_extensions(), " and ") +
                      " below them), patterns, or - for standard input")
      ->type_name("");
}

std::vector<ModelInput> expand_models(std::span<const std::string> words, Searched searched) {
  std::vector<ModelInput> inputs;
  for (const std::string& word : words) {
    std::error_code status;
    if (word != "-" && fs::is_directory(word, status) && !is_model(word))
      add_folder(inputs, word, searched);
    else if (word.find_first_of("*?[") != std::string::npos && !fs::exists(word, status))
      add_matches(inputs, word);
    else
      inputs.push_back({word, {}, fs::path(word).filename().string()});
  }
  return inputs;
}

}  // namespace onnxkit::tools
