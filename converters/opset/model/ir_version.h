#pragma once

#include <cstdint>
#include <optional>

#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {

/// Sets the IR version to `wanted`, or raises it to the least that can say what the model holds. Code ir-version when `wanted` cannot.
std::optional<Diagnostic> set_ir_version(ir::Model& model, std::optional<std::int64_t> wanted);

}  // namespace onnxkit::opset
