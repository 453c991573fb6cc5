#include "libonnxkit/cuda/channels_last_images.h"

#include <algorithm>
#include <utility>

#include "libonnxkit/cuda/channels_last_weights.h"
#include "libonnxkit/cuda/pointwise_convolution.h"
#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::cuda {
namespace {

using plan::View;

bool is_in_other_order(const View& view) { return view.rank() == 4 && !view.has_channels_last(); }

bool wants_copies(const plan::Step& step) {
  return step.kind == plan::convolution_step &&
         (is_in_other_order(step.inputs[0]) || is_in_other_order(step.outputs[0])) && !as_product(step);
}

View in_order(plan::Plan& plan, const View& like) {
  View view = plan::new_value(plan, like.type, like.dims);
  view.strides = channels_last_strides_of(view.dims);
  return view;
}

}  // namespace

void channels_last_images(plan::Plan& plan) {
  if (std::none_of(plan.steps.begin(), plan.steps.end(), wants_copies)) return;
  std::vector<plan::Step> steps = std::move(plan.steps);
  plan.steps.clear();
  const auto copy = [&](const View& from, const View& to, const plan::Step& of) {
    plan.steps.push_back({.kind = plan::copy_step, .inputs = {from}, .outputs = {to}, .nodes = of.nodes});
  };
  for (plan::Step& step : steps) {
    const bool is_changed = wants_copies(step);
    const View from = is_changed ? step.inputs[0] : View(), to = is_changed ? step.outputs[0] : View();
    if (is_in_other_order(from)) {
      step.inputs[0] = in_order(plan, from);
      copy(from, step.inputs[0], step);
    }
    if (is_in_other_order(to)) step.outputs[0] = in_order(plan, to);
    plan.steps.push_back(std::move(step));
    if (is_in_other_order(to)) copy(plan.steps.back().outputs[0], to, plan.steps.back());
  }
  place_buffers(plan);
}

}  // namespace onnxkit::cuda
