#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/compare/metrics/elements.h"

namespace onnxkit::comparison {

/// Elements of two tensors, and where they come from.
template <class Real>
struct PairBlock {
  std::array<Real, Elements::most> a, b;
  std::array<std::uint32_t, Elements::most> place;  ///< within the block as read, where `gaps`
  std::size_t size = 0;
  std::uint64_t first = 0;  ///< index of the block as read
  bool gaps = false;        ///< some pairs were taken out

  std::uint64_t index(std::size_t i) const { return first + (gaps ? place[i] : i); }
};

/// What one call of a body works on: sums over chunks do not depend on the number of threads.
inline constexpr std::size_t chunk_elements = 64 * Elements::most;

/// Calls body(chunk, first element, end) for all chunks of `elements`.
void over_chunks(std::size_t elements, int threads,
                 const std::function<void(std::size_t, std::size_t, std::size_t)>& body);

}  // namespace onnxkit::comparison
