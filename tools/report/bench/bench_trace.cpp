#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tools/report/bench/bench_parts.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

/// In whole nanoseconds, as Perfetto counts: an event must not end one of these behind the event that holds it.
using TraceTime = std::int64_t;

constexpr int steps_thread = 1, sums_thread = 2;

TraceTime trace_time(double seconds) {
  constexpr double longest = 1e6;  // of what a file says, which may be any number
  return static_cast<TraceTime>(std::llround(std::clamp(seconds, 0.0, longest) * 1e9));
}
double in_microseconds(TraceTime time) { return static_cast<double>(time) / 1000; }

Json trace_label(const char* what, int process, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

Json trace_event(const BenchStep& step, TraceTime start, TraceTime length, int process, int thread) {
  Json facts = {{"operator", step.op}, {"nodes", step.nodes}};
  if (step.operations) facts["operations"] = *step.operations;
  if (step.bytes) facts["bytes"] = *step.bytes;
  if (step.floor) facts["could be (us)"] = *step.floor * 1e6;
  if (step.calls > 1) facts["calls"] = step.calls;
  if (length > trace_time(step.last)) facts["without steps inside (us)"] = in_microseconds(trace_time(step.last));
  return {{"name", step.name.empty() ? step.op : step.name},
          {"cat", step.op},
          {"ph", "X"},
          {"ts", in_microseconds(start)},
          {"dur", in_microseconds(length)},
          {"pid", process},
          {"tid", thread},
          {"args", std::move(facts)}};
}

/// The steps of a profile, each within that which holds it: an If or a loop comes behind the steps inside it, and began before them.
class TraceSteps {
 public:
  explicit TraceSteps(const std::vector<BenchStep>& steps) : steps_(steps), inside_(steps.size()) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      auto first = outermost_.end();
      while (first != outermost_.begin() && steps[*(first - 1)].start > steps[i].start) --first;
      inside_[i].assign(first, outermost_.end());
      outermost_.erase(first, outermost_.end());
      outermost_.push_back(i);
      TraceTime length = trace_time(steps[i].last);
      for (const std::size_t inner : inside_[i]) length += lengths_[inner];
      lengths_.push_back(length);
    }
  }

  /// Adds the events; whether there are sums on a thread of their own.
  bool add_to(Json& events, int process) {
    TraceTime end = 0, end_of_sums = 0;
    bool has_sums = false;
    for (const std::size_t i : outermost_) {
      const bool is_sum = steps_[i].calls > 1;
      TraceTime& free_from = is_sum ? end_of_sums : end;
      const TraceTime start = std::max(trace_time(steps_[i].start), free_from);
      add({i, start}, process, is_sum ? sums_thread : steps_thread, events);
      free_from = start + lengths_[i];
      has_sums = has_sums || is_sum;
    }
    return has_sums;
  }

 private:
  struct Placed {
    std::size_t step;
    TraceTime start;
  };

  /// A step and all inside it, however deep.
  void add(Placed outer, int process, int thread, Json& events) const {
    for (std::vector<Placed> waiting = {outer}; !waiting.empty();) {
      const Placed next = waiting.back();
      waiting.pop_back();
      events.push_back(trace_event(steps_[next.step], next.start, lengths_[next.step], process, thread));
      const std::vector<Placed> inner = placed_inside(next);
      waiting.insert(waiting.end(), inner.rbegin(), inner.rend());
    }
  }

  /// When they began where each ran once, else one behind the other; never beyond the end of what holds them.
  std::vector<Placed> placed_inside(const Placed& outer) const {
    const BenchStep& holder = steps_[outer.step];
    const std::vector<std::size_t>& inner = inside_[outer.step];
    const bool are_timed = holder.calls == 1 &&
                           std::all_of(inner.begin(), inner.end(), [&](std::size_t i) { return steps_[i].calls == 1; });
    const TraceTime end = outer.start + lengths_[outer.step];
    TraceTime left = lengths_[outer.step] - trace_time(holder.last), free_from = outer.start;
    std::vector<Placed> placed;
    for (const std::size_t i : inner) {
      const TraceTime began = outer.start + trace_time(steps_[i].start - holder.start);
      const TraceTime wanted = are_timed || placed.empty() ? std::max(began, free_from) : free_from;
      placed.push_back({i, std::min(wanted, end - left)});
      free_from = placed.back().start + lengths_[i];
      left -= lengths_[i];
    }
    return placed;
  }

  const std::vector<BenchStep>& steps_;
  std::vector<std::vector<std::size_t>> inside_;  ///< by step
  std::vector<std::size_t> outermost_;
  std::vector<TraceTime> lengths_;  ///< with what is inside
};

}  // namespace

std::string bench_trace(const std::vector<Benchmark>& benchmarks) {
  Json events = Json::array();
  int process = 0;
  for (const Benchmark& benchmark : benchmarks) {
    for (const BenchSideReport& side : benchmark.report.sides) {
      if (!side.profile) continue;
      ++process;
      events.push_back(trace_label("process_name", process, 0, side.label + ", " + setting_of(benchmark)));
      events.push_back(trace_label("thread_name", process, steps_thread, "steps"));
      if (TraceSteps(side.profile->steps).add_to(events, process))
        events.push_back(trace_label("thread_name", process, sums_thread, "steps that ran often, their sum"));
    }
  }
  return json_text({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}});
}

}  // namespace onnxkit::tools
