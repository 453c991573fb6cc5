#pragma once

#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"

namespace onnxkit::legalize {

/// Writes operators whose channels lie on the second axis, without weights that depend on the layout of values, as elementwise operators and
/// reductions, so that the layout pass can move Transposes through them: BatchNormalization for inference, InstanceNormalization,
/// GlobalAveragePool and GlobalMaxPool. For opsets 13 to 17. Constant nodes of tensors become initializers. What has an unknown rank stays.
void write_channel_operators(ir::Model& model);

/// The names of those operators and of Constant.
std::vector<std::string_view> channel_operators();

}  // namespace onnxkit::legalize
