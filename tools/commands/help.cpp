#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "onnxkit/diagnostic.h"
#include "tools/command.h"
#include "tools/man_page.h"

namespace onnxkit::tools {
namespace {

struct HelpArguments {
  std::string command;
  bool as_man_page = false;
};

Outcome print_help(const CLI::App& app, const CLI::App& command, const HelpArguments& arguments) {
  std::vector<std::string> names;
  for (const CLI::App* known : app.get_subcommands(nullptr)) {
    names.push_back(known->get_name());
    if (names.back() != arguments.command) continue;
    std::fputs((arguments.as_man_page ? man_page(*known) : known->help(app.get_name())).c_str(), stdout);
    return Outcome::ok;
  }
  return usage_error(command, "unknown command " + quote(arguments.command) + did_you_mean(arguments.command, names));
}

/// The help of the program goes to the subcommand that was parsed, which is this one.
std::string program_help(CLI::App& app) {
  app.clear();
  return app.help();
}

}  // namespace

void register_help(CommandList& list) {
  auto arguments = std::make_shared<HelpArguments>();
  CLI::App* command = list.app().add_subcommand("help", "Print the help of the program, or of a command");
  command->add_option("COMMAND", arguments->command, "Name of a command")->type_name("");
  command->add_flag("--man", arguments->as_man_page, "Print it as a manual page, as man reads them");
  list.add(command, [command, arguments, &app = list.app()] {
    if (!arguments->command.empty()) return print_help(app, *command, *arguments);
    return std::fputs((arguments->as_man_page ? man_page(app) : program_help(app)).c_str(), stdout), Outcome::ok;
  });
}

}  // namespace onnxkit::tools
