#include "libonnxkit/cpu/kernels/level.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdlib>
#include <string_view>

namespace onnxkit::cpu {
namespace {

#if defined(__x86_64__)
/// Conversions to and from float16 (F16C): __builtin_cpu_supports of clang 14 does not know the name.
bool has_float16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

Level best_of_machine() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_float16()) return Level::baseline;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw"))
    return Level::v3;
  return __builtin_cpu_supports("avx512vnni") ? Level::vnni : Level::v4;
}
#else
Level best_of_machine() { return Level::baseline; }
#endif

Level choose_level() {
  const std::vector<Level> usable = usable_levels();
  const char* const wanted = std::getenv("ONNXKIT_CPU_ISA");
  for (const Level level : usable) {
    if (wanted != nullptr && std::string_view(wanted) == name_of(level)) return level;
  }
  return usable.front();
}

}  // namespace

const char* name_of(Level level) {
  constexpr const char* names[] = {"baseline", "v3", "v4", "vnni"};
  return names[static_cast<std::size_t>(level)];
}

std::vector<Level> usable_levels() {
  std::vector<Level> usable;
  for (int level = static_cast<int>(best_of_machine()); level >= 0; --level)
    usable.push_back(static_cast<Level>(level));
  return usable;
}

Level best_level() {
  static const Level best = choose_level();
  return best;
}

}  // namespace onnxkit::cpu
