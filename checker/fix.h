#pragma once

#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/fix.h"

namespace onnxkit::checker {

/// See onnxkit/fix.h.
std::vector<Fix> fix_model(ir::Model& model, const spec::OpTable& table);

}  // namespace onnxkit::checker
