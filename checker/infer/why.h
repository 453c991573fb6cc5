#pragma once

#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/infer.h"

namespace onnxkit::checker {

/// As onnxkit::why_unknown.
Result<std::vector<WhyStep>> why_unknown(const ir::Model& model, std::string_view value, const InferOptions& options);

}  // namespace onnxkit::checker
