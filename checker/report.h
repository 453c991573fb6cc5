#pragma once

#include <functional>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/check.h"

namespace onnxkit::checker {

/// Findings of a layer above, asked for when all rules have spoken and the model itself is sound; targets of profiles may refuse it.
using MoreFindings = std::function<std::vector<Diagnostic>()>;

/// onnxkit::check, but for targets without a profile.
Result<CheckReport> check(const ir::Model& model, const CheckOptions& options, const MoreFindings& more = {});

/// onnxkit::explain_codes.
std::vector<CodeExplanation> explain_codes();

}  // namespace onnxkit::checker
