#include "tools/report/bench/bench_parts.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

constexpr double microseconds = 1e6;

Json trace_label(const char* what, int process, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

Json trace_event(const BenchStep& step, int process) {
  Json facts = {{"operator", step.op}, {"nodes", step.nodes}};
  if (step.operations) facts["operations"] = *step.operations;
  if (step.bytes) facts["bytes"] = *step.bytes;
  if (step.floor) facts["could be (us)"] = *step.floor * microseconds;
  if (step.calls > 1) facts["calls"] = step.calls;
  return {{"name", step.name.empty() ? step.op : step.name},
          {"cat", step.op},
          {"ph", "X"},
          {"ts", step.start * microseconds},
          {"dur", step.last * microseconds},
          {"pid", process},
          {"tid", step.calls > 1 ? 2 : 1},
          {"args", std::move(facts)}};
}

}  // namespace

std::string bench_trace(const std::vector<Benchmark>& benchmarks) {
  Json events = Json::array();
  int process = 0;
  for (const Benchmark& benchmark : benchmarks) {
    for (const BenchSideReport& side : benchmark.report.sides) {
      if (!side.profile) continue;
      ++process;
      events.push_back(trace_label("process_name", process, 0, side.label + ", " + setting_of(benchmark)));
      events.push_back(trace_label("thread_name", process, 1, "steps"));
      bool repeats = false;
      for (const BenchStep& step : side.profile->steps) {
        repeats = repeats || step.calls > 1;
        events.push_back(trace_event(step, process));
      }
      if (repeats) events.push_back(trace_label("thread_name", process, 2, "steps that ran often, their sum"));
    }
  }
  return json_text({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}});
}

}  // namespace onnxkit::tools
