#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace onnxkit::spec {

/// Operator versions, by since_version, both ends included.
struct VersionRange {
  std::int32_t first = 1;
  std::int32_t last = std::numeric_limits<std::int32_t>::max();
};
constexpr VersionRange versions(std::int32_t first, std::int32_t last) { return {first, last}; }
constexpr VersionRange since(std::int32_t first) { return {.first = first}; }
constexpr VersionRange all_versions() { return {}; }

/// Functions by domain, operator and since_version.
template <class Function>
class VersionRegistry {
 public:
  /// For ai.onnx.
  void add(std::string_view op, VersionRange range, Function function) { add("", op, range, function); }
  void add(std::string_view domain, std::string_view op, VersionRange range, Function function) {
    rows_[key_of(domain, op)].push_back({range, function});
  }
  /// Null when none is registered for that version.
  Function find(std::string_view domain, std::string_view op, std::int32_t since_version) const {
    const auto found = rows_.find(key_of(domain, op));
    if (found == rows_.end()) return nullptr;
    for (const Row& row : found->second) {
      if (row.range.first <= since_version && since_version <= row.range.last) return row.function;
    }
    return nullptr;
  }

 private:
  struct Row {
    VersionRange range;
    Function function;
  };
  static std::string key_of(std::string_view domain, std::string_view op) {
    std::string key(domain);
    key += ':';
    return key += op;
  }

  std::unordered_map<std::string, std::vector<Row>> rows_;
};

}  // namespace onnxkit::spec
