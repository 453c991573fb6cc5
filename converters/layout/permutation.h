#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace onnxkit::layout {

using Axes = std::vector<std::int64_t>;

/// An order of axes, as Transpose has it: axis i of the permuted value is axis permutation[i] of the value. A layout of a value is the
/// permutation that leads from the value to what is stored.
using Permutation = std::vector<std::int64_t>;

Permutation identity_of(std::size_t rank);
bool is_identity(const Permutation& permutation);
bool is_permutation(std::span<const std::int64_t> candidate, std::size_t rank);
Permutation inverse_of(const Permutation& permutation);
/// One after the other.
Permutation composed(const Permutation& first, const Permutation& second);
/// The order in which the other axes stay, numbered anew; `removed` is ascending.
Permutation without_axes(const Permutation& permutation, const Axes& removed);
/// A permutation of `rank` axes for which `without_axes` gives `permutation`: removed axes stand before those that follow them.
Permutation with_axes(const Permutation& permutation, const Axes& removed, std::size_t rank);

}  // namespace onnxkit::layout
