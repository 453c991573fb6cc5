#include "libonnxkit/wire/text/looks.h"

#include <algorithm>

#include "libonnxkit/base/text/utf8.h"

namespace onnxkit::wire {

bool looks_like_text(std::string_view bytes) {
  constexpr std::size_t enough = 512;
  constexpr std::size_t cut_character = 3;
  const std::string_view start = bytes.substr(0, enough);
  const bool has_controls = std::any_of(start.begin(), start.end(), [](char c) {
    return c == 0x7f || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t');
  });
  const std::size_t invalid = find_invalid_utf8(start);
  return !start.empty() && !has_controls &&
         (invalid == start.npos || (start.size() == enough && invalid >= enough - cut_character));
}

bool looks_like_json(std::string_view bytes) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  return first != bytes.npos && bytes[first] == '{' && looks_like_text(bytes);
}

bool looks_like_text_syntax(std::string_view bytes) {
  if (!looks_like_text(bytes)) return false;
  const auto skip_space = [&] { bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size())); };
  skip_space();
  while (bytes.starts_with('#')) {
    bytes.remove_prefix(std::min(bytes.find('\n'), bytes.size()));
    skip_space();
  }
  if (!bytes.starts_with('<')) return false;
  bytes.remove_prefix(1);
  skip_space();
  constexpr std::string_view keys[] = {"ir_version",    "opset_import", "producer_name",  "producer_version",
                                       "model_version", "doc_string",   "metadata_props", "domain"};
  return std::any_of(std::begin(keys), std::end(keys), [&](std::string_view key) { return bytes.starts_with(key); });
}

}  // namespace onnxkit::wire
