#include <utility>

#include <fmt/core.h>

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/exec/step_times.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::exec {

void add_node(StepTimes& times, const NodeEvent& event, std::size_t steps_around) {
  const auto end = std::chrono::steady_clock::now();
  const StepRun run{.begin = end - event.wall, .end = end, .depth = steps_around + event.depth};
  const std::string key = run.depth == 0 ? "" : fmt::format("{} {}", static_cast<const void*>(event.graph), event.node);
  StepTime& step = times.add(run, key);
  if (!step.op.empty()) return;
  const ir::Node& node = event.graph->nodes[event.node];
  step.op = ir::qualified_op(node);
  step.name = ir::title_of(*event.graph, node);
  // Names of other graphs may be in use in the main graph for something else.
  if (const ir::ValueId first = ir::first_output(node); run.depth == 0 && first != ir::ValueId::none)
    step.covers.emplace_back(event.graph->name_of(first));
}

Result<RunProfile> Session::profile(const RunRequest& request) {
  RunProfile profile;
  for (int run = 0; run < request.warmup + std::max(request.repeat, 1); ++run) {
    RunRequest one = request;
    one.repeat = 1;
    one.warmup = 0;
    StepTimes times(std::chrono::steady_clock::now());
    one.on_node = [&times](const NodeEvent& event) { add_node(times, event); };
    const auto answer = this->run(one);
    if (!answer) return answer.error();
    if (run >= request.warmup && !answer->samples.empty()) add_run(profile, times.take(), answer->samples.front().wall);
  }
  if (profile.steps.empty()) return make_error("not-supported", "this backend tells nothing of the time of nodes");
  return profile;
}

}  // namespace onnxkit::exec
