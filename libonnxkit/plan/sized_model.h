#pragma once

#include <span>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

namespace onnxkit::plan {

/// The model with inputs of the sizes that the caller gives, without those that have a constant. `fixes_small_inputs`: small integer inputs are taken
/// for constants.
Result<ir::Model> sized_model(const ir::Model& model, std::span<const NamedValue> inputs, bool fixes_small_inputs);

/// Forgets the sizes that graphs inside the main one declare. Whether there were any.
bool drop_sizes_of_bodies(ir::Model& model);

}  // namespace onnxkit::plan
