#pragma once

#include <algorithm>
#include <cstdint>

namespace onnxkit::cpu {

/// Of steps that take a load and an operation or two for each number: the parts of so many numbers that make a chunk worth a thread's while. Small, as
/// what another thread wrote takes longer to load than to compute, so that each thread should go on with its own.
constexpr std::int64_t grain_for(std::int64_t numbers_of_part) {
  constexpr std::int64_t chunk_numbers = 8192;
  return std::max<std::int64_t>(chunk_numbers / std::max<std::int64_t>(numbers_of_part, 1), 1);
}

}  // namespace onnxkit::cpu
