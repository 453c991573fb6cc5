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

/// Functions by domain, operator and since_version, each with what else is known of the operator.
template <class Function, class Traits>
class VersionRegistry {
 public:
  struct Row {
    VersionRange range;
    Function function;
    Traits traits;
  };

  /// For ai.onnx.
  void add(std::string_view op, VersionRange range, Function function, const Traits& traits = {}) {
    add("", op, range, function, traits);
  }
  void add(std::string_view domain, std::string_view op, VersionRange range, Function function,
           const Traits& traits = {}) {
    rows_[key_of(domain, op)].push_back({range, function, traits});
  }
  /// Null when none is registered for that version.
  const Row* find_row(std::string_view domain, std::string_view op, std::int32_t since_version) const {
    const auto found = rows_.find(key_of(domain, op));
    if (found == rows_.end()) return nullptr;
    for (const Row& row : found->second) {
      if (row.range.first <= since_version && since_version <= row.range.last) return &row;
    }
    return nullptr;
  }
  /// Null when none is registered for that version.
  Function find(std::string_view domain, std::string_view op, std::int32_t since_version) const {
    const Row* row = find_row(domain, op, since_version);
    return row ? row->function : nullptr;
  }
  /// Those without any knowledge when no function is registered for that version.
  const Traits& traits(std::string_view domain, std::string_view op, std::int32_t since_version) const {
    static const Traits none{};
    const Row* row = find_row(domain, op, since_version);
    return row ? row->traits : none;
  }

 private:
  static std::string key_of(std::string_view domain, std::string_view op) {
    std::string key(domain);
    key += ':';
    return key += op;
  }

  std::unordered_map<std::string, std::vector<Row>> rows_;
};

}  // namespace onnxkit::spec
