#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace onnxkit::wire {

/// What bytes that were meant to be a binary ONNX model look like instead ("a TensorFlow Lite model", "a TensorProto (one tensor)");
/// nullopt when they do look like a ModelProto. Of `well_formed` protobuf that has a field of ModelProto, only the set of fields counts, so
/// that the answer outlives reading and writing.
std::optional<std::string> guess_other_format(std::string_view bytes, bool well_formed);

/// True for bytes that read as text: no control characters near the start, valid UTF-8 there.
bool looks_like_text(std::string_view bytes);

/// True for text whose first character is a brace.
bool looks_like_json(std::string_view bytes);

/// True for text that starts as a model in the ONNX text syntax does, with a header such as <ir_version: 10 ...>.
bool looks_like_text_syntax(std::string_view bytes);

}  // namespace onnxkit::wire
