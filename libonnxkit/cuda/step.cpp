#include "libonnxkit/cuda/step.h"

#include <algorithm>

namespace onnxkit::cuda {

void register_all_steps(StepRegistry& registry);

std::vector<bool> writes_of(const Launch& launch) {
  std::vector<bool> writes;
  std::string_view parameters = launch.text;
  parameters = parameters.substr(1, parameters.find(')') - 1);
  while (writes.size() < launch.operands.size()) {
    writes.push_back(!parameters.starts_with("const "));
    parameters.remove_prefix(std::min(parameters.find(", "), parameters.size() - 2) + 2);
  }
  return writes;
}

const StepRegistry& step_registry() {
  static const StepRegistry registry = [] {
    StepRegistry all;
    register_all_steps(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::cuda
