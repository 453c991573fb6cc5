#pragma once

#include <vector>

#include "checker/infer/type.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/value.h"

namespace onnxkit::checker {

/// For InferenceOptions::input_types: those of the values that the main graph's inputs are given, unknown for others than tensors.
std::vector<Type> input_types(const ir::Model& model, const std::vector<NamedValue>& inputs);

}  // namespace onnxkit::checker
