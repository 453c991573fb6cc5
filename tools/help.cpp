#include "tools/help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <vector>

namespace onnxkit::tools {
namespace {

constexpr std::size_t narrowest_help = 60, widest_help = 100;

/// Sorted: the order of a set of pointers varies.
std::string names_of(const CLI::Option& option, const std::set<CLI::Option*>& others) {
  std::vector<std::string> names;
  for (const CLI::Option* other : others) names.push_back("--" + other->get_lnames().front());
  std::sort(names.begin(), names.end());
  names.erase(std::remove(names.begin(), names.end(), "--" + option.get_lnames().front()), names.end());
  return CLI::detail::join(names, ", ");
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::size_t width) : width_(width) {
    label("SUBCOMMAND", "COMMAND");
    label("Positionals", "Arguments");
  }

  /// What the option takes. One that may be repeated and takes one word each time needs no "...".
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};
    std::string text = type_of(*option);
    const bool takes_many = option->get_expected_max() == CLI::detail::expected_max_vector_size &&
                            (option->get_positional() || option->get_allow_extra_args());
    if (takes_many && !text.ends_with("...")) text += "...";
    if (option->get_positional()) text.clear();
    return text.empty() ? text : " " + text;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string remarks;
    const auto add = [&remarks](const std::string& remark) { remarks += (remarks.empty() ? "" : "; ") + remark; };
    if (option->get_required() && !option->get_positional()) add("required");
    if (option->get_type_size() != 0 && !option->get_default_str().empty())
      add("default: " + option->get_default_str());
    if (!option->get_needs().empty()) add("requires " + names_of(*option, option->get_needs()));
    if (!option->get_excludes().empty()) add("not with " + names_of(*option, option->get_excludes()));
    std::string text = option->get_description();
    if (!remarks.empty() && text.ends_with(')'))
      text.insert(text.size() - 1, "; " + remarks);
    else if (!remarks.empty())
      text += " (" + remarks + ")";
    return wrapped(text, 0, width_ - get_column_width());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             wrapped(command->get_description(), 0, width_ - get_column_width()), get_column_width());
    return out.str();
  }

  /// What --help-all prints of a command is indented.
  std::string make_expanded(const CLI::App* command) const override {
    constexpr std::size_t indent = 2;
    const HelpFormatter narrower(width_ - indent);
    return narrower.Formatter::make_expanded(command);
  }

  /// CLI11 puts two blank lines between groups of options.
  std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(command, std::move(name), mode);
    for (std::size_t at = text.find("\n\n\n"); at != text.npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
    return text;
  }

  /// Examples are indented, and stay as they are.
  std::string make_footer(const CLI::App* command) const override {
    std::string text;
    std::stringstream lines(command->get_footer());
    for (std::string line; std::getline(lines, line);)
      text += (line.starts_with(' ') ? line : wrapped(line, 0, width_)) + "\n";
    return text;
  }

 private:
  std::size_t width_;
};

}  // namespace

std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!result.empty() && column + 1 + word.size() > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!result.empty()) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::size_t help_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return widest_help;
  return std::clamp<std::size_t>(size.ws_col, narrowest_help, widest_help);
}

std::shared_ptr<CLI::FormatterBase> help_formatter(std::size_t width) { return std::make_shared<HelpFormatter>(width); }

}  // namespace onnxkit::tools
