#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "converters/layout/permutation.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/element_type.h"

namespace onnxkit::layout {

/// Whether the elements of a stored tensor can be put into another order here: whole bytes each, in the model's own file.
bool can_permute(const ir::Tensor& tensor);
/// The tensor with its axes in that order, which the model's files then hold. Precondition: can_permute, a permutation of its rank.
ir::Tensor permuted(ir::Model& model, const ir::Tensor& tensor, const Permutation& order);

/// Elements that lie as in raw_data, with their axes in that order. nullopt where an element is not 1, 2, 4 or 8 bytes long, or the sizes do not fit
/// the bytes. Precondition: a permutation of the rank.
std::optional<std::string> permuted_bytes(ElementType elem, const std::vector<std::int64_t>& dims,
                                          std::span<const std::byte> bytes, const Permutation& order);
/// The same given away in blocks of bounded size, for tensors that are too large to lie in memory twice. False where `permuted_bytes` has no
/// result, or `take` wants no more.
bool permute_in_blocks(ElementType elem, const std::vector<std::int64_t>& dims, std::span<const std::byte> bytes,
                       const Permutation& order, const std::function<bool(std::span<const std::byte>)>& take);

}  // namespace onnxkit::layout
