#include "tools/command.h"

#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "libonnxkit/base/text/nearest.h"
#include "tools/options/config.h"
#include "tools/options/output.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

using Words = std::vector<std::string>;

Words command_names(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : shown_commands(app)) names.push_back(command->get_name());
  return names;
}

Words option_names(const CLI::App& command) {
  Words names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// Index of the subcommand's name, or the number of words. No option of the program itself takes a value.
std::size_t command_index(const Words& words) {
  const auto at =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return !word.starts_with('-'); });
  return static_cast<std::size_t>(at - words.begin());
}

/// The first option that the command does not know, else the first superfluous word.
std::string describe_extras(const CLI::App& command) {
  const Words extras = command.remaining();
  const auto option = std::find_if(extras.begin(), extras.end(),
                                   [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
  if (option == extras.end()) return extras.empty() ? "" : "unexpected argument " + quote(extras.front());
  const std::string name = option->substr(0, option->find('='));
  return "unknown option " + name + did_you_mean(name, option_names(command));
}

/// What the words before the command's name, or in its place, should have been; empty when the parser is to decide.
std::string describe_missing_command(CLI::App& app, const Words& words) {
  const std::size_t at = command_index(words);
  for (std::size_t i = 0; i < at; ++i) {
    const std::string option = words[i].substr(0, words[i].find('='));
    if (option.size() < 2 || app.get_option_no_throw(option) != nullptr) continue;
    Words owners;
    for (CLI::App* command : app.get_subcommands({}))
      if (command->get_option_no_throw(option) != nullptr) owners.push_back(command->get_name());
    if (!owners.empty())
      return option + " must follow its command: onnxkit " + (owners.size() == 1 ? owners.front() : "COMMAND") + " " +
             option;
  }
  if (at == words.size() || find_command(app, words[at]) != nullptr) return {};
  const Words names = command_names(app);
  return "unknown command " + quote(words[at]) + did_you_mean(words[at], names);
}

void parse(CLI::App& app, Words words) {
  std::reverse(words.begin(), words.end());
  app.parse(std::move(words));
}

/// Beside --help.
bool takes_options(const CLI::App& command) {
  const auto options = command.get_options();
  return std::any_of(options.begin(), options.end(), [&command](const CLI::Option* option) {
    return option->nonpositional() && option != command.get_help_ptr();
  });
}

const CLI::App& chosen(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

/// What the command line lacks may come from the config file, so the line is parsed again with what that file adds.
void parse_with_config(CLI::App& app, Words words) {
  std::exception_ptr missing;
  try {
    parse(app, words);
  } catch (const CLI::RequiredError&) {
    missing = std::current_exception();
  }
  const CLI::App& command = chosen(app);
  const CLI::Option* config = command.get_option_no_throw("--config");
  if (config == nullptr || config->count() == 0) {
    if (missing) std::rethrow_exception(missing);
    return;
  }
  const ConfigWords added = config_words(command, config->as<std::string>());
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(command_index(words)) + 1, added.options.begin(),
               added.options.end());
  words.insert(words.end(), added.positionals.begin(), added.positionals.end());
  parse(app, std::move(words));
}

}  // namespace

Outcome outcome_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::usage:
      return Outcome::usage;
    case ErrorKind::conflict:
      return Outcome::finding;
    default:
      return Outcome::failure;
  }
}

Outcome report_error(const Error& error) {
  std::fputs(diagnostic_text(error.diagnostic, color_on(ColorChoice::automatic, stderr)).c_str(), stderr);
  return outcome_of(error);
}

Outcome ErrorReporter::operator()(const Error& error) const {
  const Outcome outcome = report_error(error);
  if (as_json) std::fputs(error_json(command, error, static_cast<int>(outcome)).c_str(), stdout);
  return outcome;
}

Outcome usage_error(const CLI::App& command, std::string_view message) {
  const CLI::App* parent = command.get_parent();
  const std::string name = (parent != nullptr ? parent->get_name() + " " : "") + command.get_name();
  std::fprintf(stderr, "%s: %s\nTry '%s --help'.\n", name.c_str(), without_controls(message).c_str(), name.c_str());
  return Outcome::usage;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

CLI::App* find_command(CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&name](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::string_view close = nearest(word, views);
  return close.empty() ? std::string() : "; did you mean " + std::string(close) + "?";
}

Outcome parse_and_run(CLI::App& app, const CommandList& commands, int argc, const char* const* argv) {
  app.require_subcommand(1);
  for (const CommandList::Entry& entry : commands.entries()) {
    entry.command->group(entry.is_hidden ? "" : "Commands");
    if (!entry.is_hidden && takes_options(*entry.command)) add_config(*entry.command);
  }
  const Words words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return Outcome::usage;
  }
  if (const std::string missing = describe_missing_command(app, words); !missing.empty())
    return usage_error(app, missing);
  try {
    parse_with_config(app, words);
  } catch (const CLI::Success& shown) {
    app.exit(shown, std::cout, std::cerr);
    return Outcome::ok;
  } catch (const CLI::ParseError& fault) {
    // A misspelt option is the better explanation when something else is missing because of it.
    const std::string extras = describe_extras(chosen(app));
    return usage_error(chosen(app), extras.empty() ? fault.what() : extras);
  }
  for (const CommandList::Entry& entry : commands.entries()) {
    if (entry.command->parsed()) return entry.run();
  }
  return usage_error(app, "a command is missing");
}

Outcome finish_output(Outcome outcome) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return outcome;
  const int reason = errno;
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) return outcome;
  std::fprintf(stderr, "onnxkit: cannot write to standard output%s%s\n", reason ? ": " : "",
               reason ? std::strerror(reason) : "");
  return Outcome::failure;
}

}  // namespace onnxkit::tools
