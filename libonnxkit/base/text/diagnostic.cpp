#include "onnxkit/diagnostic.h"

#include <fmt/core.h>

#include "libonnxkit/base/text/hidden.h"

namespace onnxkit {

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::info:
      return "info";
  }
  return "error";
}

std::string Location::path() const {
  std::string path;
  const auto append = [&path](std::string_view step) {
    if (step.empty()) return;
    if (!path.empty()) path += " / ";
    path += step;
  };
  for (const std::string& step : scope) append(step);
  if (node) append(fmt::format("node {}", *node));
  append(item);
  if (!item_name.empty()) append(item.empty() ? quote(item_name) : std::string());
  if (!item_name.empty() && !item.empty()) path += " " + quote(item_name);
  if (byte_offset) append(fmt::format("byte {}", *byte_offset));
  return path;
}

namespace {

/// Appends the first character of `text` and returns its length in bytes.
std::size_t append_shown(std::string& out, std::string_view text) {
  const std::size_t length = utf8_sequence_length(text);
  if (length == 0) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    return 1;
  }
  const char32_t c = code_point(text.substr(0, length));
  if (!is_hidden(c))
    out += text.substr(0, length);
  else if (c == '\n' || c == '\t' || c == '\r')
    out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
  else
    out += c < 0x80      ? fmt::format("\\x{:02x}", static_cast<unsigned>(c))
           : c < 0x10000 ? fmt::format("\\u{:04x}", static_cast<unsigned>(c))
                         : fmt::format("\\U{:08x}", static_cast<unsigned>(c));
  return length;
}

}  // namespace

std::string without_controls(std::string_view text) {
  std::string out;
  while (!text.empty()) text.remove_prefix(append_shown(out, text));
  return out;
}

std::string quote(std::string_view text, std::size_t limit) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    if (at >= limit) {
      out += "...";
      break;
    }
    if (text[at] == '"' || text[at] == '\\') out += '\\';
    at += append_shown(out, text.substr(at));
  }
  return out + "\"";
}

}  // namespace onnxkit
