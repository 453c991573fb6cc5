#pragma once

#include <string_view>

namespace onnxkit {

/// A text file that the build put into the library. `name` is the file's name without its last extension.
struct EmbeddedText {
  std::string_view name;
  std::string_view text;
};

}  // namespace onnxkit
