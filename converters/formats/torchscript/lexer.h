#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit::torchscript {

struct Token {
  enum class Kind : std::uint8_t { name, number, text, symbol, line_end, indent, dedent, end };
  Kind kind = Kind::end;
  std::string_view text = {};
  std::size_t line = 0;
};

/// The tokens of a source file, blocks as `indent` and `dedent`. Line ends inside of brackets are none. Error code: malformed-model.
Result<std::vector<Token>> tokens_of(std::string_view source);

}  // namespace onnxkit::torchscript
