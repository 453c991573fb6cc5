#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "libonnxkit/cuda/session.h"

// Works side by side: captures that fork to several streams and join them again, so that the graph has branches.
namespace onnxkit::cuda {

/// The works of a stretch begin on its stream 0.
void ReadyPlan::choose_streams() {
  if (shared_.most_streams == 1 || has_uploads()) return;
  const Schedule steps = schedule_steps(plan_, shared_.most_streams);
  for (Stretch& stretch : stretches_) {
    std::vector<std::optional<std::size_t>> numbers(steps.streams);
    std::size_t count = 0;
    for (DeviceWork& work : stretch.works) {
      std::optional<std::size_t>& number =
          numbers[steps.order.streams[static_cast<std::size_t>(work.step - plan_.steps.data())]];
      if (!number) number = count++;
      work.stream = *number;
    }
  }
}

Result<void> ReadyPlan::schedule_works() {
  std::size_t most = 1;
  for (Stretch& stretch : stretches_) {
    std::vector<std::size_t> streams;
    for (const DeviceWork& work : stretch.works) streams.push_back(work.stream);
    if (std::count(streams.begin(), streams.end(), 0U) == static_cast<std::ptrdiff_t>(streams.size())) continue;
    std::vector<std::vector<Region>> regions;
    for (const DeviceWork& work : stretch.works) {
      const std::vector<View>& operands = work.operands();
      std::vector<bool> writes(operands.size(), false);
      if (work.call)
        writes[work.call->result()] = true;
      else
        writes = work.launch->writes;
      std::vector<Region>& of = regions.emplace_back();
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (plan_.buffers[operands[i].buffer].home != plan::Home::constant)
          of.push_back(region_of(operands[i], memory_->begin(operands[i].buffer), writes[i]));
      }
    }
    stretch.schedule = schedule(dependencies_of(regions), streams);
    most = std::max(most, stretch.schedule.streams);
  }
  while (branches_.size() + 1 < most) {
    auto stream = make_stream(shared_.maker.device);
    if (!stream) return stream.error();
    branches_.push_back(*std::move(stream));
  }
  return {};
}

Result<void> ReadyPlan::enqueue_branches(Stretch& stretch, std::vector<Event>& edges) {
  const Driver& driver = shared_.maker.device->driver();
  const Schedule& schedule = stretch.schedule;
  const auto mark = [&](std::size_t number) -> Result<DriverEvent> {
    auto event = make_event(shared_.maker.device, event_without_time);
    if (!event) return event.error();
    edges.push_back(*std::move(event));
    if (auto recorded = record(edges.back(), stream(number), 0); !recorded) return recorded.error();
    return edges.back().get();
  };
  const auto wait = [&](std::size_t number, DriverEvent event) {
    return driver.check(driver->stream_wait_event(stream(number), event, 0), "waiting for an event");
  };
  const auto begin = mark(0);
  if (!begin) return begin.error();
  for (std::size_t number = 1; number < schedule.streams; ++number) {
    if (auto forked = wait(number, *begin); !forked) return forked;
  }
  std::vector<bool> is_awaited(stretch.works.size(), false);
  for (const auto& waits : schedule.waits) {
    for (const std::size_t other : waits) is_awaited[other] = true;
  }
  std::vector<DriverEvent> ends(stretch.works.size(), nullptr);
  for (std::size_t i = 0; i < stretch.works.size(); ++i) {
    DeviceWork& work = stretch.works[i];
    for (const std::size_t other : schedule.waits[i]) {
      if (auto waited = wait(work.stream, ends[other]); !waited) return waited;
    }
    if (auto done = enqueue(work, stream(work.stream)); !done) return done;
    if (!is_awaited[i]) continue;
    const auto end = mark(work.stream);
    if (!end) return end.error();
    ends[i] = *end;
  }
  for (std::size_t number = 1; number < schedule.streams; ++number) {
    const auto end = mark(number);
    if (!end) return end.error();
    if (auto joined = wait(0, *end); !joined) return joined;
  }
  return {};
}

/// The least of several runs, over whatever the memory holds.
Result<double> ReadyPlan::seconds_of(const Stretch& stretch, const RunnableGraph& graph) const {
  const Driver& driver = shared_.maker.device->driver();
  constexpr int runs = 10;
  float least = std::numeric_limits<float>::infinity();
  for (int run = 0; run < runs; ++run) {
    float milliseconds = 0;
    DriverStatus status = driver->graph_launch(graph.get(), stream_.get());
    if (status == driver_success) status = driver->stream_synchronize(stream_.get());
    if (status == driver_success)
      status = driver->event_elapsed_time(&milliseconds, stretch.start.get(), stretch.end.get());
    if (auto sound = driver.check(status, "measuring a graph"); !sound) return sound.error();
    least = std::min(least, milliseconds);
  }
  return static_cast<double>(least) * 1e-3;
}

Result<void> ReadyPlan::make_graphs() {
  std::size_t most = 1, with_branches = 0, faster = 0;
  for (Stretch& stretch : stretches_) {
    for (Event* event : {&stretch.start, &stretch.end}) {
      auto made = make_event(shared_.maker.device);
      if (!made) return made.error();
      *event = *std::move(made);
    }
    const bool has_branches = !stretch.schedule.waits.empty();
    auto captured = capture(stretch, has_branches ? Form::branches : Form::chain);
    if (!captured) return captured.error();
    stretch.graph = *std::move(captured);
    if (!has_branches) continue;
    ++with_branches;
    most = std::max(most, stretch.schedule.streams);
    if (!shared_.measures_streams) continue;
    if (with_branches == 1) memory_->clear_host(plan_);
    auto chain = capture(stretch, Form::chain);
    if (!chain) return chain.error();
    const auto branched = seconds_of(stretch, stretch.graph);
    if (!branched) return branched.error();
    const auto chained = seconds_of(stretch, *chain);
    if (!chained) return chained.error();
    if (*branched < *chained)
      ++faster;
    else
      stretch.graph = *std::move(chain);
  }
  if (with_branches == 0) return {};
  plan_.order = fmt::format("up to {} streams", most);
  if (shared_.measures_streams && faster == 0)
    plan_.order = fmt::format("one stream, at least as fast as {} when measured", most);
  else if (shared_.measures_streams)
    plan_.order +=
        fmt::format(" in {} of {} graphs with branches, faster than one when measured", faster, with_branches);
  return {};
}

}  // namespace onnxkit::cuda
