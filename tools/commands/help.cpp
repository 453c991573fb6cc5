#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "onnxkit/diagnostic.h"
#include "tools/command.h"

namespace onnxkit::tools {
namespace {

Outcome print_help(const CLI::App& app, const CLI::App& command, const std::string& asked) {
  std::vector<std::string> names;
  for (const CLI::App* known : app.get_subcommands(nullptr)) {
    names.push_back(known->get_name());
    if (names.back() == asked) return std::fputs(known->help(app.get_name()).c_str(), stdout), Outcome::ok;
  }
  return usage_error(command, "unknown command " + quote(asked) + did_you_mean(asked, names));
}

/// The help of the program goes to the subcommand that was parsed, which is this one.
std::string program_help(CLI::App& app) {
  app.clear();
  return app.help();
}

}  // namespace

void register_help(CommandList& list) {
  auto asked = std::make_shared<std::string>();
  CLI::App* command = list.app().add_subcommand("help", "Print the help of the program, or of a command");
  command->add_option("COMMAND", *asked, "Name of a command")->type_name("");
  list.add(command, [command, asked, &app = list.app()] {
    if (asked->empty()) return std::fputs(program_help(app).c_str(), stdout), Outcome::ok;
    return print_help(app, *command, *asked);
  });
}

}  // namespace onnxkit::tools
