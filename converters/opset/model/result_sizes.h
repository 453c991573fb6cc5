#pragma once

#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {

/// Gives each Resize (11 and newer) that measures align_corners by scales the sizes of its result instead: floor(size * scale), in float32
/// as ONNX Runtime computes them. Positions then follow that size. Returns the nodes that changed.
std::vector<Location> use_result_sizes(ir::Model& model, const spec::OpTable& table, const ir::ExternalBytes& external);

}  // namespace onnxkit::opset
