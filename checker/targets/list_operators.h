#pragma once

#include "onnxkit/ops.h"

namespace onnxkit::checker {

/// onnxkit::list_operators.
Result<OpList> list_operators(const OpQuery& query);

}  // namespace onnxkit::checker
