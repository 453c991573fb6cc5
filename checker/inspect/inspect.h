#pragma once

#include "libonnxkit/ir/model.h"
#include "onnxkit/inspect.h"

namespace onnxkit::checker {

/// onnxkit::inspect.
Result<InspectReport> inspect(const ir::Model& model, const InspectOptions& options);

}  // namespace onnxkit::checker
