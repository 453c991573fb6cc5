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

}  // namespace onnxkit::wire
