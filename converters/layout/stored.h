#pragma once

#include <optional>

#include "converters/layout/permutation.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit::layout {

/// Whether the elements of a stored tensor can be put into another order here: whole bytes each, in the model's own file.
bool can_permute(const ir::Tensor& tensor);
/// The tensor with its axes in that order, which the model's files then hold. Precondition: can_permute, a permutation of its rank.
ir::Tensor permuted(ir::Model& model, const ir::Tensor& tensor, const Permutation& order);

}  // namespace onnxkit::layout
