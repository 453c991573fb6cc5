#pragma once

#include "checker/infer/shared/value_moves.h"

// What GatherElements and the Scatter operators have in common.
namespace onnxkit::checker {

/// Indices have the rank of the data, stay inside it along the axes other than `axis`, and name entries of `axis`.
/// The axis, or nullopt when anything is wrong or unknown.
std::optional<std::size_t> check_element_indices(InferContext& context);

}  // namespace onnxkit::checker
