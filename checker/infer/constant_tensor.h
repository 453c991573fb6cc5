#pragma once

#include <optional>

#include "checker/infer/constant.h"
#include "checker/infer/inference.h"

namespace onnxkit::checker {

/// The content of a tensor of at most Constant::max_elements elements; nullopt for larger, malformed, string and complex ones, and for
/// external data that `external` cannot provide.
std::optional<Constant> read_small_tensor(const ir::Tensor& tensor, const ExternalBytes& external);

}  // namespace onnxkit::checker
