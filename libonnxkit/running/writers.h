#pragma once

#include "onnxkit/check.h"
#include "onnxkit/ops.h"

// What the writers of other frameworks' formats say of a model before it is converted, and of an operator.
namespace onnxkit::running {

/// As declared in onnxkit/check.h: those with a support profile, and those with a writer.
std::vector<std::string> target_names();

/// onnxkit::check. A target that is a format which is written, or a framework with one, is answered by its writer: with what `convert` would refuse.
Result<CheckReport> check(const ir::Model& model, const CheckOptions& options);

/// onnxkit::list_operators. Versions tell which formats they are written in; a name that no operator of ONNX has may be one of a framework.
Result<OpList> list_operators(const OpQuery& query);

}  // namespace onnxkit::running
