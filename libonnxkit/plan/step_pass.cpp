#include "libonnxkit/plan/step_pass.h"

#include <algorithm>
#include <tuple>

namespace onnxkit::plan {

void register_all_step_passes(StepPassRegistry& registry);

std::vector<StepPass> StepPassRegistry::ordered() const {
  std::vector<StepPass> all = passes_;
  std::sort(all.begin(), all.end(),
            [](const StepPass& a, const StepPass& b) { return std::tie(a.stage, a.name) < std::tie(b.stage, b.name); });
  return all;
}

const StepPassRegistry& step_pass_registry() {
  static const StepPassRegistry registry = [] {
    StepPassRegistry all;
    register_all_step_passes(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::plan
