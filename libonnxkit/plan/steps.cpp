#include "libonnxkit/plan/steps.h"

#include <algorithm>

namespace onnxkit::plan {

bool writes_nothing(const Plan& plan, const Step& step) {
  if (step.kind == host_step) return false;  // it may end with an error
  return std::all_of(step.outputs.begin(), step.outputs.end(), [&](const View& view) {
    return plan.buffers[view.buffer].home != Home::slot && view.size() == 0;
  });
}

}  // namespace onnxkit::plan
