#pragma once

#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/check.h"

namespace onnxkit::checker {

/// onnxkit::check.
Result<CheckReport> check(const ir::Model& model, const CheckOptions& options);

/// onnxkit::explain_codes.
std::vector<CodeExplanation> explain_codes();

}  // namespace onnxkit::checker
