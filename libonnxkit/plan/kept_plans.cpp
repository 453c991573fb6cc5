#include "libonnxkit/plan/kept_plans.h"

#include <algorithm>

#include "libonnxkit/plan/planned.h"

namespace onnxkit::plan {

void KeptPlans::remove(const Planned& planned) {
  std::erase_if(all_, [&](const Planned* one) { return one == &planned; });
}

std::uint64_t KeptPlans::bytes() const {
  std::uint64_t bytes = 0;
  for (const Planned* one : all_) bytes += one->kept_bytes();
  return bytes;
}

bool KeptPlans::give_up_oldest() {
  Planned* oldest = nullptr;
  std::uint64_t oldest_use = 0;
  for (Planned* one : all_) {
    const auto use = one->oldest_use();
    if (!use || (oldest && *use > oldest_use)) continue;
    oldest = one;
    oldest_use = *use;
  }
  if (oldest) oldest->give_up_oldest();
  return oldest != nullptr;
}

void KeptPlans::give_up_beyond(std::uint64_t limit, std::uint64_t more) {
  if (limit == 0) return;
  while (bytes() + more > limit && give_up_oldest()) {
  }
}

}  // namespace onnxkit::plan
