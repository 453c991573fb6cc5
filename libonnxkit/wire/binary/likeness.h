#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "libonnxkit/wire/binary/reader.h"

namespace onnxkit::wire {

/// What bytes that were meant to be a binary ONNX model are instead: what `name_content` says ("a TensorFlow Lite model"), or another
/// message of the ONNX schema ("a TensorProto (one tensor)"); nullopt when they do look like a ModelProto. Of `well_formed` protobuf that has
/// a field of ModelProto, only the set of fields counts, so that the answer outlives reading and writing.
std::optional<std::string> other_content(std::string_view bytes, bool well_formed, const NameContent& name_content);

/// Whether the bytes look like a ModelProto that has a graph. A valid message of another kind does not.
bool looks_like_model(std::string_view bytes);

}  // namespace onnxkit::wire
