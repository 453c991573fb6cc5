#include "converters/layout/permutation.h"

#include <algorithm>
#include <numeric>

namespace onnxkit::layout {

Permutation identity_of(std::size_t rank) {
  Permutation permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  return permutation;
}

bool is_identity(const Permutation& permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

bool is_permutation(std::span<const std::int64_t> candidate, std::size_t rank) {
  std::vector<bool> seen(rank, false);
  for (const std::int64_t axis : candidate) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank) || seen[static_cast<std::size_t>(axis)]) return false;
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return candidate.size() == rank;
}

Permutation inverse_of(const Permutation& permutation) {
  Permutation inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

Permutation composed(const Permutation& first, const Permutation& second) {
  Permutation both(second.size());
  for (std::size_t i = 0; i < second.size(); ++i) both[i] = first[static_cast<std::size_t>(second[i])];
  return both;
}

Permutation without_axes(const Permutation& permutation, const Axes& removed) {
  if (removed.empty()) return permutation;
  Permutation rest;
  for (const std::int64_t axis : permutation) {
    const auto at = std::lower_bound(removed.begin(), removed.end(), axis);
    if (at == removed.end() || *at != axis) rest.push_back(axis - (at - removed.begin()));
  }
  return rest;
}

Permutation with_axes(const Permutation& permutation, const Axes& removed, std::size_t rank) {
  if (removed.empty()) return permutation;
  Axes kept;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis)
    if (!std::binary_search(removed.begin(), removed.end(), axis)) kept.push_back(axis);
  Permutation all;
  const auto is_removed = [&](std::int64_t axis) { return std::binary_search(removed.begin(), removed.end(), axis); };
  for (const std::int64_t place : permutation) {
    const std::int64_t axis = kept[static_cast<std::size_t>(place)];
    std::int64_t first = axis;
    while (first > 0 && is_removed(first - 1)) --first;
    for (; first < axis; ++first) all.push_back(first);
    all.push_back(axis);
  }
  for (std::int64_t axis = kept.empty() ? 0 : kept.back() + 1; axis < static_cast<std::int64_t>(rank); ++axis)
    all.push_back(axis);
  return all;
}

}  // namespace onnxkit::layout
