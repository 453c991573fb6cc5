#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "libonnxkit/exec/backend.h"

namespace onnxkit::exec {

/// When a step ran, and inside how many others.
struct StepRun {
  std::chrono::steady_clock::time_point begin, end;
  std::size_t depth = 0;
};

/// Collects the steps of one run in the order in which they end: those inside a step before it. What runs inside a step in many passes is one step
/// with the sum of their times.
class StepTimes {
 public:
  explicit StepTimes(std::chrono::steady_clock::time_point begin) : begin_(begin) {}

  /// The step that ran: the one with this key from an earlier pass, or a new one, whose name and op the caller fills in. An empty key is new each time.
  StepTime& add(const StepRun& run, const std::string& key);
  std::vector<StepTime> take() { return std::move(steps_); }

 private:
  /// Without those inside it.
  double own_seconds(std::size_t depth, double seconds);

  std::chrono::steady_clock::time_point begin_;
  std::vector<double> inside_;  ///< by depth: of the steps that have ended since the last one around them
  std::vector<StepTime> steps_;
  std::unordered_map<std::string, std::size_t> places_;
};

/// Adds a node that has ended just now. `steps_around` are around the graph that event.depth counts from.
void add_node(StepTimes& times, const NodeEvent& event, std::size_t steps_around = 0);

/// Adds a run's steps to those of the runs before it. What a run does may depend on its data: after one with other steps the profile begins anew.
void add_run(RunProfile& profile, std::vector<StepTime> steps, double wall);

}  // namespace onnxkit::exec
