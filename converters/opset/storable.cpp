#include "converters/opset/storable.h"

#include "converters/opset/step.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::opset {

std::int64_t storable_count(std::span<const std::int64_t> sizes) {
  constexpr std::int64_t most = std::int64_t{1} << 22;
  const auto count = checked_element_count(sizes);
  if (!count || *count > most) refuse("the result is too large for a list of the positions of its elements");
  return *count;
}

}  // namespace onnxkit::opset
