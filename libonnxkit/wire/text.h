#pragma once

#include <string>
#include <string_view>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"

namespace onnxkit::wire {

/// Reads a model in the ONNX text syntax with the extensions of docs/text-syntax.md. The model owns its strings; `text` may go
/// away. `source_name` is what errors name. Fails with text-syntax: line and column are in the message, the line is quoted.
/// As with the binary form, only the form is checked: a model that makes no sense parses.
Result<ir::Model> parse_text(std::string_view text, std::string_view source_name);

/// The model in the ONNX text syntax; parse_text of it gives an equal model. Where the official syntax can say all of the
/// model, the official parser takes the text too.
std::string print_text(const ir::Model& model);

}  // namespace onnxkit::wire
