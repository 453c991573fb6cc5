#include "tools/man_page.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <sstream>

#include "onnxkit/version.h"
#include "tools/command.h"
#include "tools/help.h"

namespace onnxkit::tools {
namespace {

/// As troff prints it: no hyphens for minus signs, no requests of its own.
std::string escaped(std::string_view text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

/// "onnxkit-check", "onnxkit".
std::string page_name(const CLI::App& command) {
  return command.get_parent() ? command.get_parent()->get_name() + "-" + command.get_name() : command.get_name();
}

std::string entry(const std::string& name, const std::string& taken, const std::string& description) {
  const std::string value =
      taken.empty() ? "" : fmt::format(" \\fI{}\\fR", escaped(CLI::detail::trim_copy(std::string(taken))));
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", escaped(name), value, escaped(description));
}

/// The description of the program begins with its name.
std::string purpose(const CLI::App& command) {
  const std::string text = command.get_description(), name = command.get_name() + " ";
  return text.starts_with(name) ? text.substr(name.size()) : text;
}

/// The options of a group, or the arguments.
std::string options_section(const CLI::App& command, const CLI::Formatter& formatter, const std::string& group,
                            bool arguments) {
  std::string entries;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() != arguments || (!arguments && option->get_group() != group)) continue;
    entries += entry(option->get_name(arguments, true), formatter.make_option_opts(option),
                     formatter.make_option_desc(option));
  }
  return entries.empty() ? "" : fmt::format(".SH {}\n{}", upper(arguments ? "arguments" : group), entries);
}

std::string commands_section(const CLI::App& app) {
  std::string entries;
  for (const CLI::App* command : shown_commands(app))
    entries += entry(command->get_name(), "", command->get_description());
  return entries.empty() ? "" : ".SH COMMANDS\n" + entries;
}

/// The text below the options: paragraphs, the exit status, and examples as they are.
std::string footer_sections(const CLI::App& command) {
  constexpr std::string_view status = "Exit status: ";
  std::string notes, exit_status, examples;
  std::stringstream lines(command.get_footer());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(' ')) {
      examples += escaped(line) + "\n";
    } else if (line.starts_with(status)) {
      exit_status = escaped(line.substr(status.size())) + "\n";
    } else if (!line.starts_with("Example")) {
      const bool goes_on = !exit_status.empty() && !exit_status.ends_with(".\n");
      (goes_on ? exit_status : notes) += escaped(line) + "\n";
    } else if (const std::size_t colon = line.find(": "); colon != std::string::npos) {
      examples += escaped("  " + line.substr(colon + 2)) + "\n";
    }
  }
  std::string text;
  if (!notes.empty()) text += ".SH NOTES\n" + notes;
  if (!exit_status.empty()) text += ".SH EXIT STATUS\n" + exit_status;
  if (!examples.empty()) text += ".SH EXAMPLES\n.nf\n" + examples + ".fi\n";
  return text;
}

std::string see_also(const CLI::App& command) {
  if (command.get_parent()) return ".SH SEE ALSO\n\\fB" + escaped(command.get_parent()->get_name()) + "\\fR(1)\n";
  std::string pages;
  for (const CLI::App* other : shown_commands(command))
    pages += fmt::format("{}\\fB{}\\fR(1)", pages.empty() ? "" : ",\n", escaped(page_name(*other)));
  return ".SH SEE ALSO\n" + pages + "\n";
}

}  // namespace

std::string man_page(const CLI::App& command) {
  const auto formatter = std::dynamic_pointer_cast<CLI::Formatter>(help_formatter(std::numeric_limits<int>::max()));
  const std::string name = page_name(command);
  const std::string parent = command.get_parent() ? command.get_parent()->get_name() + " " : "";
  const std::string usage = CLI::detail::trim_copy(formatter->make_usage(&command, parent + command.get_name()));
  std::string text = fmt::format(".TH {} 1 \"\" \"onnxkit {}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n",
                                 upper(escaped(name)), version(), escaped(name), escaped(purpose(command)),
                                 escaped(usage.substr(std::min(usage.find(": ") + 2, usage.size()))));
  text += options_section(command, *formatter, "", true);
  for (const std::string& group : command.get_groups()) text += options_section(command, *formatter, group, false);
  return text + commands_section(command) + footer_sections(command) + see_also(command);
}

}  // namespace onnxkit::tools
