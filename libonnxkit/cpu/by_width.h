#pragma once

#include <cstdint>

namespace onnxkit::cpu {

/// Calls f with an integer as wide as an element of so many bytes: 1, 2, 4 or 8.
template <class F>
void by_width(std::int64_t bytes, const F& f) {
  if (bytes == 1)
    f(std::uint8_t());
  else if (bytes == 2)
    f(std::uint16_t());
  else if (bytes == 4)
    f(std::uint32_t());
  else
    f(std::uint64_t());
}

}  // namespace onnxkit::cpu
