#include "tools/completion/complete.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "tools/command.h"
#include "tools/completion/value_words.h"
#include "tools/help.h"

namespace onnxkit::tools {
namespace {

using Words = std::vector<std::string>;

std::string first_sentence(const std::string& text) {
  return text.substr(0, std::min(text.find(". "), text.find(": ")));
}

bool is_option(std::string_view word) { return word.size() > 1 && word.starts_with('-'); }

/// An option that takes a value behind it, when the word names one and does not hold the value itself.
const CLI::Option* awaits_value(const CLI::App& command, const std::string& word) {
  if (!is_option(word) || word.find('=') != std::string::npos) return nullptr;
  const CLI::Option* option = command.get_option_no_throw(word);
  return option != nullptr && option->get_type_size() != 0 ? option : nullptr;
}

/// Options by their long names; those that were given and take one value are left out.
std::vector<Candidate> options_of(const CLI::App& command, const Words& before) {
  std::vector<Candidate> candidates;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) continue;
    const bool may_repeat = option->get_expected_max() > 1;
    const bool is_given = std::any_of(before.begin(), before.end(), [&](const std::string& word) {
      return is_option(word) && option->check_name(word.substr(0, word.find('=')));
    });
    if (is_given && !may_repeat) continue;
    for (const std::string& name : option->get_lnames())
      candidates.push_back({"--" + name, first_sentence(option->get_description())});
  }
  return candidates;
}

std::vector<Candidate> commands_of(const CLI::App& app) {
  std::vector<Candidate> candidates;
  for (const CLI::App* command : shown_commands(app))
    candidates.push_back({command->get_name(), command->get_description()});
  return candidates;
}

/// The candidates that begin as `typed` does, each behind `prefix`, which stands in front of it in the word.
void keep(std::vector<Candidate>& words, std::string_view typed, const std::string& prefix) {
  std::erase_if(words, [&](const Candidate& candidate) { return !candidate.word.starts_with(typed); });
  for (Candidate& candidate : words) candidate.word.insert(0, prefix);
}

/// The values of an option; of several with commas between them the last.
Completion value_completion(const CLI::Option& option, const std::string& typed, const std::string& prefix) {
  Completion values = values_of(option);
  const std::size_t comma = type_of(option).ends_with(",...") ? typed.rfind(',') : std::string::npos;
  const std::size_t start = comma == std::string::npos ? 0 : comma + 1;
  keep(values.words, typed.substr(start), prefix + typed.substr(0, start));
  return values;
}

/// What a command takes beside options: the argument that has a list of words, else files.
Completion argument_completion(const CLI::App& app, const CLI::App& command, const std::string& typed) {
  Completion values;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name(true);
    if (name == "COMMAND")
      values.words = commands_of(app);
    else if (const std::string type = type_of(*option); !type.empty())
      values = values_of(*option);
    else
      values.paths = PathKind::files;
  }
  keep(values.words, typed, "");
  return values;
}

Completion completion_in(const CLI::App& app, const CLI::App& command, const Words& before, const std::string& typed) {
  const bool only_arguments = std::find(before.begin(), before.end(), "--") != before.end();
  if (!only_arguments && !before.empty()) {
    if (const CLI::Option* option = awaits_value(command, before.back())) return value_completion(*option, typed, "");
  }
  if (only_arguments || !typed.starts_with('-')) return argument_completion(app, command, typed);
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos) {
    Completion options{options_of(command, before)};
    keep(options.words, typed, "");
    return options;
  }
  const CLI::Option* option = awaits_value(command, typed.substr(0, equals));
  return option ? value_completion(*option, typed.substr(equals + 1), typed.substr(0, equals + 1)) : Completion();
}

}  // namespace

Completion complete(CLI::App& app, const Words& words) {
  const std::string typed = words.empty() ? "" : words.back();
  const Words before(words.begin(), words.empty() ? words.end() : words.end() - 1);
  const auto named =
      std::find_if(before.begin(), before.end(), [](const std::string& word) { return !is_option(word); });
  if (named != before.end()) {
    const CLI::App* command = find_command(app, *named);
    return command ? completion_in(app, *command, Words(named + 1, before.end()), typed) : Completion();
  }
  Completion first;
  first.words = typed.starts_with('-') ? options_of(app, before) : commands_of(app);
  keep(first.words, typed, "");
  return first;
}

}  // namespace onnxkit::tools
