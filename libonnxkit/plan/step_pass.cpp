#include "libonnxkit/plan/step_pass.h"

namespace onnxkit::plan {

void register_all_step_passes(StepPassRegistry& registry);

const StepPassRegistry& step_pass_registry() {
  static const StepPassRegistry registry = [] {
    StepPassRegistry all;
    register_all_step_passes(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::plan
