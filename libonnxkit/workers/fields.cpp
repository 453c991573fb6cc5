#include "libonnxkit/workers/fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace onnxkit::workers {
namespace {

constexpr int deepest = 100;

bool is_natural(const Json& value) {
  if (!value.is_number_integer()) return false;
  if (!value.is_number_unsigned()) return value.get<std::int64_t>() >= 0;
  return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

/// How deep brackets are nested outside of strings.
int depth_of(std::string_view json) {
  int depth = 0, most = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size() && most <= deepest; ++i) {
    const char c = json[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') most = std::max(most, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return most;
}

}  // namespace

std::string excerpt(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("{}... ({} more bytes)", text.substr(0, end), text.size() - end);
}

void Fields::fail(std::string_view where, std::string_view what) {
  if (fault_.empty()) fault_ = where.empty() ? std::string(what) : fmt::format("{}: {}", where, what);
}

const Json& Fields::member(const Json& object, const char* key) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

std::string Fields::text(const Json& object, const char* key, std::string_view where) {
  const Json& value = member(object, key);
  if (!value.is_string()) fail(where, fmt::format("\"{}\" must be a string", key));
  if (!value.is_string()) return {};
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > longest_text)
    fail(where, fmt::format("\"{}\" has {} bytes, {} are allowed", key, text.size(), longest_text));
  return text.size() > longest_text ? std::string() : text;
}

bool Fields::flag(const Json& object, const char* key, bool fallback, std::string_view where) {
  const Json& value = member(object, key);
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_null()) fail(where, fmt::format("\"{}\" must be true or false", key));
  return fallback;
}

std::uint64_t Fields::natural(const Json& value, std::string_view where) {
  if (is_natural(value)) return value.get<std::uint64_t>();
  fail(where, "not an integer from 0 to 2^63 - 1");
  return 0;
}

double Fields::seconds(const Json& value, std::string_view where) {
  constexpr double longest = 1e9;  // some thirty years: no clock of a run tells more
  const double seconds = value.is_number() ? value.get<double>() : -1;
  if (seconds >= 0 && seconds <= longest) return seconds;
  fail(where, "not a number of seconds");
  return 0;
}

const Json& Fields::array(const Json& object, const char* key, std::string_view where) {
  static const Json empty = Json::array();
  const Json& value = member(object, key);
  if (value.is_array()) return value;
  fail(where, fmt::format("\"{}\" must be a list", key));
  return empty;
}

std::vector<std::string> Fields::texts(const Json& object, const char* key, std::string_view where) {
  std::vector<std::string> all;
  const Json& list = array(object, key, where);
  if (list.size() > most_texts) {
    fail(where, fmt::format("\"{}\" has {} elements, {} are allowed", key, list.size(), most_texts));
    return all;
  }
  for (const Json& item : list) {
    if (!item.is_string()) {
      fail(where, fmt::format("\"{}\" must contain strings only", key));
      break;
    }
    all.push_back(excerpt(item.get_ref<const std::string&>()));
  }
  return all;
}

// Not by a callback of the parser, which looks through all elements of a list after each of them.
Json parse_object(std::string_view text) {
  const Json discarded(Json::value_t::discarded);
  if (depth_of(text) > deepest) return discarded;
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_object() ? parsed : discarded;
}

}  // namespace onnxkit::workers
