#include "libonnxkit/exec/step_times.h"

#include <algorithm>
#include <utility>

namespace onnxkit::exec {
namespace {

double seconds_of(std::chrono::steady_clock::duration span) { return std::chrono::duration<double>(span).count(); }

bool are_alike(const std::vector<StepTime>& a, const std::vector<StepTime>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const StepTime& x, const StepTime& y) {
    return x.name == y.name && x.op == y.op && x.calls == y.calls;
  });
}

}  // namespace

StepTime& StepTimes::add(const StepRun& run, const std::string& key) {
  const double own = own_seconds(run.depth, seconds_of(run.end - run.begin));
  const auto known = key.empty() ? places_.end() : places_.find(key);
  if (known != places_.end()) {
    StepTime& step = steps_[known->second];
    ++step.calls;
    step.spans.front().seconds += own;
    return step;
  }
  if (!key.empty()) places_.emplace(key, steps_.size());
  StepTime& step = steps_.emplace_back();
  step.spans.push_back({std::max(seconds_of(run.begin - begin_), 0.0), own});
  return step;
}

double StepTimes::own_seconds(std::size_t depth, double seconds) {
  if (inside_.size() < depth + 2) inside_.resize(depth + 2);
  inside_[depth] += seconds;
  return std::max(seconds - std::exchange(inside_[depth + 1], 0), 0.0);
}

void add_run(RunProfile& profile, std::vector<StepTime> steps, double wall) {
  if (are_alike(profile.steps, steps)) {
    for (std::size_t i = 0; i < steps.size(); ++i) profile.steps[i].spans.push_back(steps[i].spans.front());
  } else {
    profile.steps = std::move(steps);
    profile.walls.clear();
  }
  profile.walls.push_back(wall);
}

}  // namespace onnxkit::exec
