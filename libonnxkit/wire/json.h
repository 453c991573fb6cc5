#pragma once

#include <map>
#include <string>
#include <string_view>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"

namespace onnxkit::wire {

struct JsonText {
  std::string text;
  /// Fields that the schema does not name, kept as `unknown_fields` in base64: how many, by the message that holds them.
  std::map<std::string, std::size_t> unknown_fields;
};

/// The model in protobuf's JSON form of ModelProto, with the field names of the schema, as onnx.save(format="json") writes it.
/// Fails with json-too-large (protobuf handles less than 2 GiB) or json-unprintable (a string that is not UTF-8).
Result<JsonText> print_json(const ir::Model& model);

/// Inverse of print_json. Fails with json-syntax or json-too-large; `source_name` is what errors name.
Result<ir::Model> parse_json(std::string_view json, std::string_view source_name);

}  // namespace onnxkit::wire
