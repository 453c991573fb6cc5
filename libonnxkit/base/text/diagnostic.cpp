#include "onnxkit/diagnostic.h"

#include <fmt/core.h>

#include "libonnxkit/base/text/utf8.h"

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

std::string quote(std::string_view text, std::size_t limit) {
  std::string out = "\"";
  std::size_t at = 0;
  while (at < text.size()) {
    if (at >= limit) {
      out += "...";
      break;
    }
    const std::size_t length = utf8_sequence_length(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : byte == '\r' ? "\\r" : fmt::format("\\x{:02x}", byte);
      ++at;
      continue;
    }
    if (byte == '"' || byte == '\\') out += '\\';
    out += text.substr(at, length);
    at += length;
  }
  return out + "\"";
}

}  // namespace onnxkit
