#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checker/infer/inference.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::inputs {

/// What the nodes that a sequence input of the main graph reaches ask of its tensors, where its type states no shape: that of a tensor that joins
/// them, is taken out of them, or is made by joining them. Sizes that are not known are nullopt. The input is followed through operators that
/// only change which tensors there are, and into subgraphs. nullopt when no node says anything.
std::optional<std::vector<std::optional<std::int64_t>>> element_shape_of_input(const ir::Model& model,
                                                                               const spec::OpTable& table,
                                                                               const checker::InferredModel& inferred,
                                                                               ir::ValueId input);

}  // namespace onnxkit::inputs
