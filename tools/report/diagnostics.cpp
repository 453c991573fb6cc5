#include "tools/report/diagnostics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "libonnxkit/base/text/hidden.h"

namespace onnxkit::tools {
namespace {

constexpr std::string_view dim = "\x1b[2m";
constexpr std::string_view plain = "\x1b[0m";

std::string file_text(const Location& location, bool color) {
  return location.file.empty() ? std::string() : painted(bold, without_controls(location.file) + ":", color) + " ";
}

void add_line(std::string& text, std::string_view label, std::string_view value, bool color) {
  if (!value.empty())
    text += fmt::format("  {} {}\n", painted(dim, fmt::format("{:<8}", label), color), without_controls(value));
}

}  // namespace

std::string painted(std::string_view paint, std::string_view text, bool color) {
  return color ? fmt::format("{}{}{}", paint, text, plain) : std::string(text);
}

std::string diagnostic_text(const Diagnostic& diagnostic, bool color) {
  return format(diagnostic, color ? TextStyle::color : TextStyle::plain);
}

std::string fix_text(const Fix& fix, bool color) {
  std::string text = file_text(fix.location, color) + painted("\x1b[1;32m", fmt::format("fixed[{}]", fix.code), color) +
                     ": " + without_controls(fix.done) + "\n";
  add_line(text, "at", fix.location.path(), color);
  return text;
}

std::string place_text(const Location& location) {
  std::string text = location.path();
  if (!location.op.empty()) text += " " + location.op;
  if (!location.node_name.empty()) text += " " + quote(location.node_name);
  return without_controls(text);
}

nlohmann::ordered_json location_json(const Location& location) {
  nlohmann::ordered_json json = {{"path", location.path()}, {"scope", location.scope}};
  if (location.node) json["node"] = *location.node;
  if (!location.node_name.empty()) json["node_name"] = location.node_name;
  if (!location.op.empty()) json["op"] = location.op;
  if (!location.item.empty()) json["item"] = location.item;
  if (!location.item_name.empty()) json["item_name"] = location.item_name;
  if (location.byte_offset) json["byte_offset"] = *location.byte_offset;
  return json;
}

nlohmann::ordered_json diagnostic_json(const Diagnostic& diagnostic) {
  nlohmann::ordered_json json = {{"code", diagnostic.code},
                                 {"severity", to_string(diagnostic.severity)},
                                 {"message", diagnostic.message},
                                 {"place", location_json(diagnostic.location)}};
  if (!diagnostic.expected.empty()) json["expected"] = diagnostic.expected;
  if (!diagnostic.found.empty()) json["found"] = diagnostic.found;
  if (!diagnostic.notes.empty()) json["notes"] = diagnostic.notes;
  if (!diagnostic.help.empty()) json["help"] = diagnostic.help;
  return json;
}

nlohmann::ordered_json fixes_json(const std::vector<Fix>& fixes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Fix& fix : fixes)
    json.push_back({{"code", fix.code}, {"place", location_json(fix.location)}, {"done", fix.done}});
  return json;
}

std::string error_json(std::string_view command, const Error& error, int exit_status) {
  nlohmann::ordered_json json = {{"format", "onnxkit-error"}, {"format_version", 1}, {"command", command}};
  if (!error.diagnostic.location.file.empty()) json["file"] = error.diagnostic.location.file;
  json["kind"] = name_of(error.kind);
  json["error"] = diagnostic_json(error.diagnostic);
  json["exit_status"] = exit_status;
  return json_text(json);
}

nlohmann::ordered_json real_json(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

// Hidden characters can only lie in strings, where an escape means the same.
std::string json_text(const nlohmann::ordered_json& json) {
  const std::string dumped = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::string text;
  for (std::string_view rest = dumped; !rest.empty();) {
    const std::string_view sequence = rest.substr(0, std::max<std::size_t>(utf8_sequence_length(rest), 1));
    rest.remove_prefix(sequence.size());
    const char32_t c = code_point(sequence);
    if (c < 0x7f || !is_hidden(c))
      text += sequence;
    else if (c < 0x10000)
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += fmt::format("\\u{:04x}\\u{:04x}", 0xd7c0U + static_cast<unsigned>(c >> 10), 0xdc00U + (c & 0x3ffU));
  }
  return text;
}

Error in_file(Error error, const std::string& path) {
  if (error.diagnostic.location.file.empty()) error.diagnostic.location.file = path == "-" ? standard_input_name : path;
  return error;
}

std::string shown_path(const std::string& path) { return without_controls(path == "-" ? standard_input_name : path); }

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace onnxkit::tools
