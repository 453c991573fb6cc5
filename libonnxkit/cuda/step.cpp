#include "libonnxkit/cuda/step.h"

namespace onnxkit::cuda {

void register_all_steps(StepRegistry& registry);

void Launch::add_operand(const View& view, bool is_written) {
  operands.push_back(view);
  writes.push_back(is_written);
}

void Launch::add_operands(const plan::Step& step) {
  for (const View& view : step.inputs) add_operand(view, false);
  for (const View& view : step.outputs) add_operand(view, true);
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
