#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// `--config FILE.yaml`, which can hold every option of the command.
void add_config(CLI::App& command);

/// Words of a command line that say what the file says.
struct ConfigWords {
  std::vector<std::string> options;
  std::vector<std::string> positionals;
};

/// What the YAML file at `path` adds to a command line that has been parsed: a map of option names (without the dashes; positionals in
/// lower case) to values, lists for options that may be repeated, true and false for flags, NAME: VALUE maps for those that take
/// NAME=VALUE. Options that the command line gives are left out. Throws CLI::ParseError for an unreadable file and unknown keys.
ConfigWords config_words(const CLI::App& command, const std::string& path);

}  // namespace onnxkit::tools
