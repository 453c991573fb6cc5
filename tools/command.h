#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/result.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// What a command came to; the process exits with its number (docs/cli.md).
enum class Outcome : int {
  ok = 0,
  finding = 1,  ///< an error diagnostic, a mismatch, a refusal
  usage = 2,
  failure = 3,  ///< an input could not be read, an output not be written, a backend not run
};

/// The one location that decides what an error of the library means for the exit status.
Outcome outcome_of(const Error& error);

/// Prints the error to standard error; its outcome.
Outcome report_error(const Error& error);

/// Reports errors of a command whose results are JSON on standard output or not: there it prints an object with the error, so that no
/// reader of that output gets nothing (docs/json/error.schema.json).
struct ErrorReporter {
  std::string_view command;
  bool as_json = false;

  /// As report_error, before anything else was printed to standard output.
  Outcome operator()(const Error& error) const;
};

/// Prints "onnxkit COMMAND: message" and where to find help to standard error.
Outcome usage_error(const CLI::App& command, std::string_view message);

/// "; did you mean NEAREST?", or nothing when no candidate is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// Those that the help shows.
std::vector<const CLI::App*> shown_commands(const CLI::App& app);

/// Null where there is none of this name.
CLI::App* find_command(CLI::App& app, const std::string& name);

/// The subcommands, each added by the `register_<name>` function of its file in tools/commands.
class CommandList {
 public:
  explicit CommandList(CLI::App& app) : app_(app) {}
  CLI::App& app() { return app_; }
  /// `run` is called after parsing when `command` was chosen.
  void add(CLI::App* command, std::function<Outcome()> run) { commands_.push_back({command, std::move(run)}); }
  /// One that scripts call, which the help does not show.
  void add_hidden(CLI::App* command, std::function<Outcome()> run) {
    commands_.push_back({command, std::move(run), true});
  }

  struct Entry {
    CLI::App* command;
    std::function<Outcome()> run;
    bool is_hidden = false;
  };
  const std::vector<Entry>& entries() const { return commands_; }

 private:
  CLI::App& app_;
  std::vector<Entry> commands_;
};

/// Parses the command line and runs the command that it names. Every command gets `--config FILE` (tools/options/config.h). Help goes
/// to standard output, usage errors to standard error.
Outcome parse_and_run(CLI::App& app, const CommandList& commands, int argc, const char* const* argv);

/// `outcome`, or failure when standard output did not take all that was written to it. A reader that closed the pipe wanted no more.
Outcome finish_output(Outcome outcome);

}  // namespace onnxkit::tools
