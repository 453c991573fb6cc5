#pragma once

#include <optional>

#include "libonnxkit/ir/model.h"
#include "onnxkit/opset.h"

namespace onnxkit::opset {

struct ChangedModel {
  OpsetReport report;
  std::optional<ir::Model> model;   ///< when the conversion succeeded
  std::optional<ir::Model> before;  ///< what it is compared with, where that is not the model as it came
};

/// onnxkit::change_opset: the conversion, and check before and after it.
Result<ChangedModel> change_opset(const ir::Model& model, const OpsetOptions& options);

}  // namespace onnxkit::opset
