#pragma once

#include <cstdint>
#include <span>

#include "reference/executor/kernel.h"

// Weights of a few bits each, packed into bytes, and what operators on them let runtimes do.
namespace onnxkit::reference {

/// Number `i` of `bits` bits each that lie in bytes from `first` on, low bits first.
inline std::uint64_t packed_number(std::span<const std::uint64_t> bytes, std::size_t first, std::size_t i,
                                   std::size_t bits) {
  const std::size_t at = i * bits;
  return bytes[first + at / 8] >> (at % 8) & ((std::uint64_t{1} << bits) - 1);
}

/// Whether a runtime may round the factor of packed weights to integers of 8 bits: accuracy_level says so, or experts of QMoE have weights of 8 bits in
/// blocks, for which the operator's documentation names no other way.
bool may_round_factor(const ir::Node& node);
/// Rows of `length` numbers as a product with packed weights takes them: in a noisy run that imitates int8, rounded block by block where the node
/// allows it.
Tensor factor_of_packed(const KernelContext& context, const Tensor& rows, std::int64_t length, std::int64_t block);

}  // namespace onnxkit::reference
