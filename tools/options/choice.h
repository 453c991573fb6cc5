#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "onnxkit/diagnostic.h"
#include "tools/command.h"

namespace onnxkit::tools {

/// An option that takes one of a few words; a wrong one is answered with the nearest. `target` holds the default.
template <class T>
CLI::Option* add_choice(CLI::App& command, const std::string& name, T& target,
                        const std::vector<std::pair<std::string, T>>& choices, const std::string& description) {
  std::vector<std::string> words;
  std::string all, preset;
  for (const auto& [word, value] : choices) {
    words.push_back(word);
    all += (all.empty() ? "" : "|") + word;
    if (value == target) preset = word;
  }
  const auto take = [&target, choices, words, name, all](const std::string& word) {
    const auto at = std::find(words.begin(), words.end(), word);
    if (at == words.end())
      throw CLI::ValidationError(name, quote(word) + " is not one of " + all + did_you_mean(word, words));
    target = choices[static_cast<std::size_t>(at - words.begin())].second;
  };
  return command.add_option_function<std::string>(name, take, description)->type_name(all)->default_str(preset);
}

}  // namespace onnxkit::tools
