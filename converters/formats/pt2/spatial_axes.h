#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "converters/foreign/call.h"

namespace onnxkit::pt2 {

/// One number for each of the spatial axes: a list of one counts for all.
inline std::vector<std::int64_t> for_each_axis(foreign::Call& call, std::string_view name, std::size_t count,
                                               std::int64_t fallback) {
  std::vector<std::int64_t> values = call.integers(name);
  if (values.empty()) values.assign(count, fallback);
  if (values.size() == 1) values.assign(count, values.front());
  if (values.size() != count) call.refuse("a list has a number for each spatial axis or one");
  values.resize(count, fallback);
  return values;
}

}  // namespace onnxkit::pt2
