#include "libonnxkit/cpu/kernels/isa.h"

namespace onnxkit::cpu {
namespace {

#if defined(__x86_64__)
constexpr const Isa* isas[] = {&isa_baseline, &isa_v3, &isa_v4};
#else
constexpr const Isa* isas[] = {&isa_baseline};
#endif

}  // namespace

std::vector<const Isa*> usable_isas() {
  std::vector<const Isa*> usable;
  for (const Level level : usable_levels()) {
    const Isa& isa = at_level(isas, level);
    if (isa.level == level) usable.push_back(&isa);
  }
  return usable;
}

const Isa& best_isa() { return at_level(isas, best_level()); }

const char* isa_name(const Isa& isa) { return name_of(isa.level); }
std::int64_t isa_lanes(const Isa& isa) { return isa.lanes; }

}  // namespace onnxkit::cpu
