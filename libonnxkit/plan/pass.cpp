#include "libonnxkit/plan/pass.h"

#include <algorithm>
#include <tuple>

namespace onnxkit::plan {

void register_all_passes(PassRegistry& registry);

std::vector<Pass> PassRegistry::ordered() const {
  std::vector<Pass> all = passes_;
  std::sort(all.begin(), all.end(),
            [](const Pass& a, const Pass& b) { return std::tie(a.stage, a.name) < std::tie(b.stage, b.name); });
  return all;
}

const PassRegistry& pass_registry() {
  static const PassRegistry registry = [] {
    PassRegistry all;
    register_all_passes(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::plan
