#include <algorithm>
#include <map>
#include <utility>

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::exec {
namespace {

using Clock = std::chrono::steady_clock;

/// The steps of one run from the events of its nodes, which come when a node has ended: those inside it before its own.
class EventSteps {
 public:
  explicit EventSteps(Clock::time_point begin) : begin_(begin) {}

  void add(const NodeEvent& event) {
    const double seconds = std::chrono::duration<double>(event.wall).count();
    const double start = std::max(std::chrono::duration<double>(Clock::now() - begin_).count() - seconds, 0.0);
    double inside = 0;
    for (; !ended_.empty() && ended_.back().first >= start; ended_.pop_back()) inside += ended_.back().second;
    ended_.emplace_back(start, seconds);
    const auto [place, is_new] = places_.try_emplace({event.graph, event.node}, steps_.size());
    if (is_new) {
      const ir::Node& node = event.graph->nodes[event.node];
      StepTime& step = steps_.emplace_back();
      step.op = ir::qualified_op(node);
      if (const ir::ValueId first = ir::first_output(node); first != ir::ValueId::none)
        step.covers.emplace_back(event.graph->name_of(first));
      step.name = ir::title_of(*event.graph, node);
      step.calls = 0;
      step.spans.push_back({start, 0});
      graphs_.push_back(event.graph);
    }
    StepTime& step = steps_[place->second];
    ++step.calls;
    step.spans.front().seconds += std::max(seconds - inside, 0.0);
    main_ = event.graph;
  }

  /// The last node to end is one of the main graph; names of others may be in use there for something else.
  std::vector<StepTime> take() {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (graphs_[i] != main_) steps_[i].covers.clear();
    return std::move(steps_);
  }

 private:
  Clock::time_point begin_;
  std::vector<std::pair<double, double>> ended_;  ///< start and seconds of nodes that no other has been found to hold
  std::map<std::pair<const ir::Graph*, std::size_t>, std::size_t> places_;
  std::vector<StepTime> steps_;
  std::vector<const ir::Graph*> graphs_;
  const ir::Graph* main_ = nullptr;
};

bool are_alike(const std::vector<StepTime>& a, const std::vector<StepTime>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const StepTime& x, const StepTime& y) {
    return x.name == y.name && x.op == y.op && x.calls == y.calls;
  });
}

}  // namespace

Result<RunProfile> Session::profile(const RunRequest& request) {
  RunProfile profile;
  for (int run = 0; run < request.warmup + std::max(request.repeat, 1); ++run) {
    RunRequest one = request;
    one.repeat = 1;
    one.warmup = 0;
    EventSteps events(Clock::now());
    one.on_node = [&events](const NodeEvent& event) { events.add(event); };
    const auto answer = this->run(one);
    if (!answer) return answer.error();
    if (run < request.warmup) continue;
    std::vector<StepTime> steps = events.take();
    // What a run does may depend on its data; then the last run stands alone.
    if (!are_alike(profile.steps, steps)) {
      profile.steps = std::move(steps);
      profile.walls.clear();
    } else {
      for (std::size_t i = 0; i < steps.size(); ++i) profile.steps[i].spans.push_back(steps[i].spans.front());
    }
    for (const RunSample& sample : answer->samples) profile.walls.push_back(sample.wall);
  }
  if (profile.steps.empty()) return make_error("not-supported", "this backend tells nothing of the time of nodes");
  return profile;
}

}  // namespace onnxkit::exec
