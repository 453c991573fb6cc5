#include "libonnxkit/cpu/kernels/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdlib>
#include <string_view>

namespace onnxkit::cpu {
namespace {

const Isa& choose_isa() {
  const std::vector<const Isa*> usable = usable_isas();
  const char* const wanted = std::getenv("ONNXKIT_CPU_ISA");
  for (const Isa* isa : usable) {
    if (wanted != nullptr && std::string_view(wanted) == isa->name) return *isa;
  }
  return *usable.front();
}

#if defined(__x86_64__)
/// Conversions to and from float16 (F16C): __builtin_cpu_supports of clang 14 does not know the name.
bool has_float16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

}  // namespace

std::vector<const Isa*> usable_isas() {
  std::vector<const Isa*> usable;
#if defined(__x86_64__)
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_float16();
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (has_v4) usable.push_back(&isa_v4);
  if (has_v3) usable.push_back(&isa_v3);
#endif
  usable.push_back(&isa_baseline);
  return usable;
}

const Isa& best_isa() {
  static const Isa& best = choose_isa();
  return best;
}

const char* isa_name(const Isa& isa) { return isa.name; }
std::int64_t isa_lanes(const Isa& isa) { return isa.lanes; }

}  // namespace onnxkit::cpu
