#include "libonnxkit/workers/fields.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace onnxkit::workers {
namespace {

constexpr int deepest = 100;

bool is_natural(const Json& value) {
  if (!value.is_number_integer()) return false;
  if (!value.is_number_unsigned()) return value.get<std::int64_t>() >= 0;
  return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

}  // namespace

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
  if (value.is_string()) return value.get<std::string>();
  fail(where, fmt::format("\"{}\" must be a string", key));
  return {};
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
  const double seconds = value.is_number() ? value.get<double>() : -1;
  if (std::isfinite(seconds) && seconds >= 0) return seconds;
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
  for (const Json& item : array(object, key, where)) {
    if (!item.is_string()) {
      fail(where, fmt::format("\"{}\" must contain strings only", key));
      break;
    }
    all.push_back(item.get<std::string>());
  }
  return all;
}

Json parse_object(std::string_view text) {
  bool too_deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > deepest;
    return depth <= deepest;
  };
  Json parsed = Json::parse(text, shallow, false);
  if (too_deep || !parsed.is_object()) return Json(Json::value_t::discarded);
  return parsed;
}

}  // namespace onnxkit::workers
