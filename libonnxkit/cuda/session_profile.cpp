#include "libonnxkit/cuda/session.h"

// Times of steps: events in a graph of their own, so that the graph that runs otherwise stays as it is.
namespace onnxkit::cuda {

std::vector<const plan::Step*> ReadyPlan::steps_of(const Stretch& stretch) {
  std::vector<const plan::Step*> steps;
  for (const DeviceWork& work : stretch.works) {
    if (steps.empty() || steps.back() != work.step) steps.push_back(work.step);
  }
  return steps;
}

Result<void> ReadyPlan::make_timed(Stretch& stretch) {
  if (stretch.timed || !stretch.graph) return {};
  stretch.events.clear();
  for (std::size_t i = 0; i <= steps_of(stretch).size(); ++i) {
    auto event = make_event(shared_.maker.device);
    if (!event) return event.error();
    stretch.events.push_back(*std::move(event));
  }
  auto graph = capture(stretch, Form::profile);
  if (!graph) return graph.error();
  stretch.timed = *std::move(graph);
  return {};
}

Result<void> ReadyPlan::tell_times(const Stretch& stretch, const plan::PlannedRun& run,
                                   std::chrono::steady_clock::time_point start) const {
  if (!run.times || !stretch.timed) return {};
  const Driver& driver = shared_.maker.device->driver();
  using std::chrono::duration_cast;
  using Span = std::chrono::steady_clock::duration;
  const auto steps = steps_of(stretch);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    float milliseconds = 0;
    if (auto told = driver.check(
            driver->event_elapsed_time(&milliseconds, stretch.events[i].get(), stretch.events[i + 1].get()),
            "telling the time of a step");
        !told)
      return told;
    const auto end = start + duration_cast<Span>(std::chrono::duration<float, std::milli>(milliseconds));
    run.add_time(*steps[i], start, end);
    start = end;
  }
  return {};
}

Result<void> ReadyPlan::tell_device_time(const Stretch& stretch, const plan::PlannedRun& run) const {
  if (run.times || !run.device_seconds || !stretch.graph) return {};
  const Driver& driver = shared_.maker.device->driver();
  float milliseconds = 0;
  const DriverStatus status = driver->event_elapsed_time(&milliseconds, stretch.start.get(), stretch.end.get());
  if (auto told = driver.check(status, "telling the time of a run"); !told) return told;
  *run.device_seconds = run.device_seconds->value_or(0) + static_cast<double>(milliseconds) * 1e-3;
  return {};
}

}  // namespace onnxkit::cuda
