#pragma once

#include <string_view>

namespace onnxkit::wire {

/// True for bytes that read as text: no control characters near the start, valid UTF-8 there.
bool looks_like_text(std::string_view bytes);

/// True for text whose first character is a brace.
bool looks_like_json(std::string_view bytes);

/// True for text that starts as a model in the ONNX text syntax does, with a header such as <ir_version: 10 ...>.
bool looks_like_text_syntax(std::string_view bytes);

}  // namespace onnxkit::wire
