#pragma once

#include <string>

#include "checker/infer/infer_traits.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit::checker {

/// "kernel_shape = [3, 3]", "to = FLOAT"; long values are shortened. `traits` are those of the node's operator.
std::string attribute_text(const ir::Attribute& attribute, const InferTraits& traits);

}  // namespace onnxkit::checker
