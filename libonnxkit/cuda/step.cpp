#include "libonnxkit/cuda/step.h"

namespace onnxkit::cuda {

void register_all_steps(StepRegistry& registry);

const StepRegistry& step_registry() {
  static const StepRegistry registry = [] {
    StepRegistry all;
    register_all_steps(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::cuda
