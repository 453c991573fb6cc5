#include "tools/sweep/task.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "onnxkit/diagnostic.h"
#include "tools/command.h"

namespace onnxkit::tools {
namespace {

constexpr std::string_view model_field = "{model}", name_field = "{name}";

/// As a shell splits them, with quotes.
std::vector<std::string> split_words(const std::string& text) {
  CLI::App line;
  line.set_help_flag();
  line.prefix_command();
  line.parse(text);
  return line.remaining();
}

bool takes_a_model(const CLI::App& command) {
  return command.get_option_no_throw("MODEL") != nullptr || command.get_option_no_throw("IN") != nullptr;
}

std::vector<std::string> commands_for_sweeps(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : shown_commands(app))
    if (takes_a_model(*command) && command->get_name() != "sweep") names.push_back(command->get_name());
  return names;
}

bool names_option(const std::vector<std::string>& words, std::string_view option) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == option || word.starts_with(std::string(option) + "=");
  });
}

/// Whether the report goes to a file, whose name says its form.
bool writes_report(const std::vector<std::string>& words) {
  return words.front() == "inspect" &&
         (names_option(words, "--output") ||
          std::any_of(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("-o"); }));
}

bool has_json(const CLI::App& command) {
  const CLI::Option* format = command.get_option_no_throw("--format");
  return format != nullptr && format->get_type_name().find("json") != std::string::npos;
}

void replace_all(std::string& text, std::string_view field, const std::string& value) {
  for (std::size_t at = text.find(field); at != std::string::npos; at = text.find(field, at + value.size()))
    text.replace(at, field.size(), value);
}

}  // namespace

Result<SweepTask> SweepTask::parse(const std::string& text, CLI::App& app) {
  SweepTask task;
  try {
    task.words_ = split_words(text);
  } catch (const CLI::Error& fault) {
    return make_error("usage", quote(text) + " is not a command: " + fault.what());
  }
  const auto known = commands_for_sweeps(app);
  if (task.words_.empty()) return make_error("usage", "the command to run on each model is missing");
  const std::string& name = task.command();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    if (find_command(app, name) != nullptr)
      return make_error("usage", "the command " + quote(name) + " cannot run on each model of a sweep");
    return make_error("usage", "unknown command " + quote(name) + did_you_mean(name, known));
  }
  task.asks_for_json_ =
      has_json(*find_command(app, name)) && !names_option(task.words_, "--format") && !writes_report(task.words_);
  return task;
}

std::vector<std::string> SweepTask::words_for(const ModelInput& model, const std::string& path) const {
  const std::string name = std::filesystem::path(model.relative).replace_extension().string();
  std::vector<std::string> words;
  bool has_field = false;
  for (std::string word : words_) {
    has_field = has_field || word.find(model_field) != std::string::npos;
    replace_all(word, name_field, name);
    replace_all(word, model_field, path);
    words.push_back(std::move(word));
  }
  if (!has_field) words.insert(words.begin() + 1, path);
  if (asks_for_json_) words.insert(words.end(), {"--format", "json"});
  return words;
}

}  // namespace onnxkit::tools
