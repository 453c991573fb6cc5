#pragma once

#include "libonnxkit/ir/model.h"
#include "onnxkit/opset.h"

namespace onnxkit::opset {

/// onnxkit::change_opset: the conversion, and check before and after it.
Result<OpsetReport> change_opset(ir::Model& model, const OpsetOptions& options);

}  // namespace onnxkit::opset
