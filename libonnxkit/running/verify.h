#pragma once

#include "onnxkit/opset.h"

namespace onnxkit::running {

/// As declared in the public header: both models run on the reference, on the same inputs.
Result<VerifyReport> verify_equal(const Model& before, const Model& after, const VerifyOptions& options);

}  // namespace onnxkit::running
