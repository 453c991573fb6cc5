#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnxkit/value.h"

// A graph may list one value as several outputs. Runtimes that are asked for outputs by name give it once.
namespace onnxkit::exec {

/// Each name once, where it comes first.
inline std::vector<std::string> distinct_names(std::span<const std::string> names) {
  std::vector<std::string> distinct;
  std::unordered_set<std::string_view> known;
  for (const std::string& name : names)
    if (known.insert(name).second) distinct.push_back(name);
  return distinct;
}

/// The values of distinct names for all names.
inline std::vector<NamedValue> values_of(std::vector<NamedValue> distinct, std::span<const std::string> names) {
  if (distinct.size() == names.size()) return distinct;
  std::unordered_map<std::string_view, const NamedValue*> by_name;
  for (const NamedValue& value : distinct) by_name.emplace(value.name, &value);
  std::vector<NamedValue> all;
  for (const std::string& name : names)
    if (const auto value = by_name.find(name); value != by_name.end()) all.push_back(*value->second);
  return all;
}

}  // namespace onnxkit::exec
