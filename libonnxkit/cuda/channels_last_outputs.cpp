#include "libonnxkit/cuda/channels_last_outputs.h"

#include <algorithm>
#include <utility>

#include "libonnxkit/cuda/channels_last_weights.h"
#include "libonnxkit/cuda/pointwise_convolution.h"
#include "libonnxkit/plan/program_pass.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::cuda {
namespace {

bool is_in_other_order(const plan::Step& step) {
  return step.kind == plan::convolution_step && step.outputs[0].rank() == 4 && !step.outputs[0].has_channels_last() &&
         !as_product(step);
}

}  // namespace

void channels_last_outputs(plan::Plan& plan) {
  if (std::none_of(plan.steps.begin(), plan.steps.end(), is_in_other_order)) return;
  std::vector<plan::Step> steps = std::move(plan.steps);
  plan.steps.clear();
  for (plan::Step& step : steps) {
    if (!is_in_other_order(step)) {
      plan.steps.push_back(std::move(step));
      continue;
    }
    plan::View to = plan::new_value(plan, step.outputs[0].type, step.outputs[0].dims);
    to.strides = channels_last_strides_of(to.dims);
    plan::Step copy{.kind = plan::copy_step, .inputs = {to}, .outputs = {step.outputs[0]}, .nodes = step.nodes};
    step.outputs[0] = std::move(to);
    plan.steps.push_back(std::move(step));
    plan.steps.push_back(std::move(copy));
  }
  place_buffers(plan);
}

}  // namespace onnxkit::cuda
