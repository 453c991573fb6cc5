#pragma once

#include <span>
#include <vector>

#include "reference/kernels/axes.h"

// Indices whose last axis holds the coordinates of one position each, as GatherND and ScatterND take them.
namespace onnxkit::reference {

/// Number of coordinates in each tuple: the size of the last axis.
inline std::int64_t tuple_length(const Tensor& indices) {
  require(indices.rank() > 0 && indices.dims().back() > 0, "the last axis of the indices must hold coordinates");
  return indices.dims().back();
}

/// Row-major position of each tuple in a shape of the tuple's length; negative coordinates count from the end.
inline std::vector<std::int64_t> tuple_positions(const Tensor& indices, std::span<const std::int64_t> sizes) {
  const std::vector<std::int64_t> all = indices.integers();
  const std::int64_t count = element_count(std::span(indices.dims()).first(indices.dims().size() - 1));
  std::vector<std::int64_t> positions;
  auto next = all.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t position = 0;
    for (const std::int64_t size : sizes) position = position * size + normalize_index(*next++, size);
    positions.push_back(position);
  }
  return positions;
}

}  // namespace onnxkit::reference
