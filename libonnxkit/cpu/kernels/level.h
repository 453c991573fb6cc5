#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace onnxkit::cpu {

/// Instruction sets that kernels are compiled for, each with all of those before it: SSE2, AVX2 with FMA and F16C, AVX-512, and that with products of
/// bytes, which only integer kernels have.
enum class Level : std::uint8_t { baseline, v3, v4, vnni };
const char* name_of(Level level);

/// Those that this machine can run, best first; the last is the baseline.
std::vector<Level> usable_levels();
/// The best of them, or the one that the environment variable ONNXKIT_CPU_ISA names. Another name is passed over.
Level best_level();

/// What a table that holds one thing for each level up to its last has for this one.
template <class T, std::size_t count>
const T& at_level(const T* const (&table)[count], Level level) {
  const auto index = static_cast<std::size_t>(level);
  return *table[index < count ? index : count - 1];
}

}  // namespace onnxkit::cpu
