#include <fmt/core.h>

#include "onnxkit/diagnostic.h"

namespace onnxkit {
namespace {

constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view dim = "\x1b[2m";
constexpr std::string_view all_off = "\x1b[0m";

std::string_view color_of(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "\x1b[1;31m";
    case Severity::warning:
      return "\x1b[1;33m";
    case Severity::info:
      return "\x1b[1;36m";
  }
  return "";
}

std::string painted(std::string_view paint, std::string_view text, TextStyle style) {
  return style == TextStyle::color ? fmt::format("{}{}{}", paint, text, all_off) : std::string(text);
}

void add_line(std::string& text, std::string_view label, std::string_view value, TextStyle style) {
  if (!value.empty())
    text += fmt::format("  {} {}\n", painted(dim, fmt::format("{:<8}", label), style), without_controls(value));
}

/// "Gelu" of "com.microsoft::Gelu"
std::string unqualified(const std::string& op) {
  const std::size_t colons = op.rfind("::");
  return colons == op.npos ? op : op.substr(colons + 2);
}

}  // namespace

std::string headline(const Diagnostic& diagnostic) {
  const Location& location = diagnostic.location;
  if (location.op.empty()) return diagnostic.message;
  std::string text = without_controls(location.op);
  if (!location.node_name.empty()) text += " " + quote(location.node_name);
  const std::string subject = unqualified(location.op) + " ";
  if (diagnostic.message.starts_with(subject)) return text + diagnostic.message.substr(subject.size() - 1);
  return text + ": " + diagnostic.message;
}

std::string format(const Diagnostic& diagnostic, TextStyle style) {
  const Location& location = diagnostic.location;
  std::string text;
  if (!location.file.empty()) text = painted(bold, without_controls(location.file) + ":", style) + " ";
  const std::string head = fmt::format("{}[{}]", to_string(diagnostic.severity), diagnostic.code);
  text += painted(color_of(diagnostic.severity), head, style) + ": " + without_controls(headline(diagnostic)) + "\n";
  add_line(text, "at", location.path(), style);
  add_line(text, "expected", diagnostic.expected, style);
  add_line(text, "found", diagnostic.found, style);
  for (const std::string& note : diagnostic.notes) add_line(text, "note", note, style);
  add_line(text, "help", diagnostic.help, style);
  return text;
}

}  // namespace onnxkit
