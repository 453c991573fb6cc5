#include "tools/options/config.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "onnxkit/diagnostic.h"
#include "tools/command.h"

namespace onnxkit::tools {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw CLI::ConfigError(path + ": " + message, CLI::ExitCodes::ConfigError);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The name that the file uses for an option; empty for options that make no sense there.
std::string key_of(const CLI::Option& option) {
  if (option.get_positional()) return lower(option.get_name(true));
  for (const std::string& name : option.get_lnames())
    if (name != "help" && name != "config") return name;
  return {};
}

std::vector<std::string> values_of(const std::string& path, const std::string& key, const YAML::Node& node) {
  std::vector<std::string> values;
  if (node.IsScalar()) {
    values.push_back(node.Scalar());
  } else if (node.IsSequence() &&
             std::all_of(node.begin(), node.end(), [](const YAML::Node& item) { return item.IsScalar(); })) {
    for (const YAML::Node& item : node) values.push_back(item.Scalar());
  } else if (node.IsMap()) {
    for (const auto& item : node) {
      if (!item.first.IsScalar() || !item.second.IsScalar()) fail(path, key + " is not a map of scalar values");
      values.push_back(item.first.Scalar() + "=" + item.second.Scalar());
    }
  } else {
    fail(path, key + " has no value");
  }
  return values;
}

/// One entry of `suppress: [{node: NAME, code: CODE}]` as words of --suppress-node; either may be a list.
std::vector<std::string> node_words(const std::string& path, const std::string& key, const YAML::Node& item) {
  std::vector<std::string> nodes, codes = {"*"};
  for (const auto& part : item) {
    const std::string name = part.first.IsScalar() ? part.first.Scalar() : "";
    if (name == "node")
      nodes = values_of(path, key + ": node", part.second);
    else if (name == "code")
      codes = values_of(path, key + ": code", part.second);
    else
      fail(path, "an entry of " + key + " has node and code, not " + quote(name));
  }
  if (nodes.empty()) fail(path, "an entry of " + key + " has no node");
  std::vector<std::string> words;
  for (const std::string& node : nodes) {
    for (const std::string& code : codes) words.push_back("--" + key + "-node=" + code + "=" + node);
  }
  return words;
}

/// Takes the entries that are maps out of the list of an option that has another one for nodes.
YAML::Node without_node_entries(const std::string& path, const std::string& key, const YAML::Node& list,
                                std::vector<std::string>& words) {
  YAML::Node rest(YAML::NodeType::Sequence);
  for (const YAML::Node& item : list) {
    if (!item.IsMap()) {
      rest.push_back(item);
      continue;
    }
    const std::vector<std::string> more = node_words(path, key, item);
    words.insert(words.end(), more.begin(), more.end());
  }
  return rest;
}

void add_words(ConfigWords& words, const CLI::Option& option, const std::string& key,
               const std::vector<std::string>& values) {
  if (option.get_positional()) {
    words.positionals.insert(words.positionals.end(), values.begin(), values.end());
    return;
  }
  const bool is_flag = option.get_items_expected_max() == 0;
  for (const std::string& value : values) {
    if (is_flag && value == "false") continue;
    words.options.push_back(is_flag && value == "true" ? "--" + key : "--" + key + "=" + value);
  }
}

YAML::Node load(const std::string& path) {
  try {
    return YAML::LoadFile(path);
  } catch (const YAML::BadFile&) {
    fail(path, "cannot read this file");
  } catch (const YAML::Exception& fault) {
    fail(path, fmt::format("line {}: {}", fault.mark.line + 1, fault.msg));
  }
}

}  // namespace

void add_config(CLI::App& command) {
  command.add_option("--config", "YAML file with options of this command; the command line overrides it")
      ->type_name("FILE");
}

ConfigWords config_words(const CLI::App& command, const std::string& path) {
  const YAML::Node root = load(path);
  if (root.IsNull()) return {};
  if (!root.IsMap()) fail(path, "must contain a map of options");
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options()) keys.push_back(key_of(*option));
  ConfigWords words;
  for (const auto& entry : root) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const auto options = command.get_options();
    const auto at = std::find_if(options.begin(), options.end(),
                                 [&key](const CLI::Option* option) { return !key.empty() && key_of(*option) == key; });
    if (at == options.end()) fail(path, "unknown option " + quote(key) + did_you_mean(key, keys));
    if ((*at)->count() > 0) continue;
    const bool may_name_nodes = entry.second.IsSequence() && command.get_option_no_throw("--" + key + "-node");
    const YAML::Node value =
        may_name_nodes ? without_node_entries(path, key, entry.second, words.options) : YAML::Node(entry.second);
    add_words(words, **at, key, values_of(path, key, value));
  }
  return words;
}

}  // namespace onnxkit::tools
