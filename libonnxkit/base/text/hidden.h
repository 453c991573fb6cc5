#pragma once

#include <string_view>

#include "libonnxkit/base/text/utf8.h"

namespace onnxkit {

/// Characters that are not seen as themselves and may change how their surroundings are seen: controls, line breaks of Unicode, marks
/// and overrides of the writing direction, tags.
constexpr bool is_hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe007f);
}

/// The character of one sequence that utf8_sequence_length accepts.
constexpr char32_t code_point(std::string_view sequence) {
  constexpr unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t c = static_cast<unsigned char>(sequence[0]) & lead_bits[sequence.size()];
  for (const char next : sequence.substr(1)) c = c << 6 | (static_cast<unsigned char>(next) & 0x3f);
  return c;
}

}  // namespace onnxkit
