#pragma once

#include <span>
#include <string_view>
#include <unordered_map>

#include "onnxkit/value.h"

namespace onnxkit::plan {

/// Values that are looked up by their names, of equal ones the first. The values outlive it.
class ValuesByName {
 public:
  explicit ValuesByName(std::span<const NamedValue> values) : values_(values) {
    if (values.size() <= few) return;
    table_.reserve(values.size());
    for (const NamedValue& value : values) table_.emplace(value.name, &value.value);
  }

  /// Null where there is none.
  const Value* find(std::string_view name) const {
    if (values_.size() > few) {
      const auto known = table_.find(name);
      return known == table_.end() ? nullptr : known->second;
    }
    for (const NamedValue& value : values_)
      if (value.name == name) return &value.value;
    return nullptr;
  }

 private:
  static constexpr std::size_t few = 16;  // of these none needs a table, which a small model would make for each run

  std::span<const NamedValue> values_;
  std::unordered_map<std::string_view, const Value*> table_ = {};
};

}  // namespace onnxkit::plan
