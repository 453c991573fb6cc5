#pragma once

#include <cstdint>
#include <optional>

#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::spec {
class OpTable;
}

namespace onnxkit::checker {

/// The model imports an opset of ai.onnx that several of its nodes do not fit, and all fit a newer one: the import is wrong, not the nodes.
struct OldImport {
  std::size_t import = 0;    ///< which of the model's
  std::int64_t fitting = 0;  ///< the oldest opset that all nodes fit
  Diagnostic finding;        ///< the one cause, opset-too-old
};

std::optional<OldImport> old_import(const ir::Model& model, const spec::OpTable& table);

}  // namespace onnxkit::checker
