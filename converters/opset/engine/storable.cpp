#include "converters/opset/engine/storable.h"

#include <algorithm>

#include <fmt/core.h>

#include "converters/opset/engine/step.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::opset {

std::int64_t storable_count(std::span<const std::int64_t> sizes) {
  const auto count = checked_element_count(sizes);
  if (!count || *count > most_storable)
    refuse(fmt::format("a constant of more than {} elements would have to be written", most_storable));
  return *count;
}

bool is_foldable(std::span<const std::int64_t> sizes) {
  const auto count = checked_element_count(sizes);
  return count && *count <= most_foldable &&
         std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size <= most_foldable; });
}

}  // namespace onnxkit::opset
