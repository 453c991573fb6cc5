#include "libonnxkit/bench/profile.h"

#include <algorithm>
#include <utility>

#include "libonnxkit/bench/statistics.h"

namespace onnxkit::benching {
namespace {

/// Nothing where the step computes nodes of which the model does not tell how much they multiply.
std::optional<double> floor_of(const BenchStep& step, const BenchRoof& roof) {
  if (!step.operations && (!step.nodes.empty() || !step.bytes)) return std::nullopt;
  return std::max(step.operations.value_or(0) / roof.operations_per_second,
                  step.bytes.value_or(0) / roof.bytes_per_second);
}

}  // namespace

BenchProfile profile_of(exec::RunProfile profile, std::vector<StepCost> costs, std::optional<BenchRoof> roof) {
  BenchProfile found;
  found.runs = profile.walls.size();
  if (!profile.walls.empty()) found.seconds = median(std::move(profile.walls));
  found.device = profile.device;
  found.roof = roof;
  costs.resize(profile.steps.size());
  double end = 0;
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    exec::StepTime& from = profile.steps[i];
    BenchStep& step = found.steps.emplace_back();
    step.name = std::move(from.name);
    step.op = std::move(from.op);
    step.calls = from.calls;
    step.nodes = std::move(costs[i].nodes);
    step.operations = costs[i].operations;
    if (!step.operations && from.products > 0) step.operations = 2 * from.products;
    step.bytes = costs[i].bytes;
    if (!step.bytes && from.bytes) step.bytes = static_cast<double>(*from.bytes);
    if (from.spans.empty()) continue;
    std::vector<double> seconds;
    for (const exec::StepSpan& span : from.spans) seconds.push_back(span.seconds);
    step.seconds = median(std::move(seconds));
    step.last = from.spans.back().seconds;
    // A backend that does not tell when its steps begin runs them one behind the other.
    step.start = from.spans.back().start.value_or(end);
    end = step.start + step.last;
    if (roof) step.floor = floor_of(step, *roof);
  }
  return found;
}

}  // namespace onnxkit::benching
