#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace onnxkit::tools {

/// An option that takes words: several of them in one argument, with commas between them, or by being repeated.
inline CLI::Option* add_list(CLI::App& command, const std::string& name, std::vector<std::string>& words,
                             const std::string& description) {
  const auto without_blanks = [](std::string& word) {
    word = CLI::detail::trim_copy(word);
    return std::string();
  };
  return command.add_option(name, words, description)
      ->allow_extra_args(false)
      ->delimiter(',')
      ->transform(CLI::Validator(without_blanks, ""));
}

}  // namespace onnxkit::tools
