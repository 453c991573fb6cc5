#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checker/infer/inference.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::inputs {

/// How many elements of a mask are true.
struct MaskCount {
  std::int64_t count = 0;
  std::string at;  ///< the first node that cannot work with just any: "main / node 4 (ScatterND)"
};

/// What nodes demand of the number of true elements of a tensor input of the main graph, which NonZero and Compress make a size of: the greatest
/// that meets all. `inferred`: with demands, and with the sizes that the inputs have. nullopt where any number does.
std::optional<MaskCount> mask_count(const ir::Model& model, const spec::OpTable& table,
                                    const checker::InferredModel& inferred, ir::ValueId input);

}  // namespace onnxkit::inputs
