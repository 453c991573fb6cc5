#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit {

struct FixOptions {
  /// Schemas of operators, and what else calls share.
  Context context = {};
};

/// One thing that was fixed.
struct Fix {
  /// Code of the finding that it answers.
  std::string code;
  Location location;
  /// "node 3 moved behind node 7", "value_info of "y" removed" ...
  std::string done;
};

/// Fixes what can be fixed without a doubt, in place: node order, names that hide outer ones, value_info that is stale or of nothing, a missing graph
/// name, a repeated import, and a missing import of ai.onnx (with the newest opset that goes with the IR version and in which every node
/// fits its operator). What it cannot fix stays as it is; check the result. Fails only for wrong options.
ONNXKIT_API Result<std::vector<Fix>> fix(Model& model, const FixOptions& options = {});

}  // namespace onnxkit
