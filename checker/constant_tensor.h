#pragma once

#include <optional>

#include "checker/inference.h"
#include "checker/known_value.h"

namespace onnxkit::checker {

/// The content of a tensor of at most KnownValue::max_elements elements; nullopt for larger, malformed, string and complex ones, and for
/// external data that `external` cannot provide.
std::optional<KnownValue> read_small_tensor(const ir::Tensor& tensor, const ExternalBytes& external);

}  // namespace onnxkit::checker
