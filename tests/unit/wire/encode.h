#pragma once

#include <cstdint>
#include <string>

namespace onnxkit::tests {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

/// A length-delimited field: a text or an encoded message.
inline std::string field(std::uint32_t number, const std::string& payload) {
  return varint(number << 3 | 2) + varint(payload.size()) + payload;
}

}  // namespace onnxkit::tests
