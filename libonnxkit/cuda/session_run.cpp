#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cuda/session.h"
#include "libonnxkit/plan/places.h"
#include "libonnxkit/plan/precision.h"

// Runs of a plan that is ready.
namespace onnxkit::cuda {

using plan::Home;
using plan::Step;

Result<void> ReadyPlan::bind_inputs(std::span<const Value> inputs, std::optional<std::size_t> unchanged) {
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    if (i == unchanged) continue;
    const plan::Buffer& buffer = plan_.buffers[plan_.inputs[i].buffer];
    if (buffer.home == Home::slot) {
      slots_[buffer.index] = inputs[i];
      continue;
    }
    if (!are_read_[plan_.inputs[i].buffer]) continue;
    Tensor tensor = inputs[i].tensor;
    if (tensor.type() != buffer.type) {
      auto changed = plan::in_type(tensor, buffer.type);
      if (!changed) return changed.error();
      tensor = *std::move(changed);
    }
    const auto bytes = tensor.bytes();
    if (bytes.size() != buffer.bytes)
      return make_error("input-shape",
                        fmt::format("the input {} has another size than the plan", plan_.inputs[i].name));
    if (auto sent = send(plan_.inputs[i].buffer, bytes); !sent) return sent;
  }
  return {};
}

Result<void> ReadyPlan::send(std::uint32_t buffer, std::span<const std::byte> bytes) {
  std::byte* const pinned = memory_->host()[buffer];
  if (!is_sent_in_parts(plan_.buffers[buffer])) {
    shared_.copies.copy(pinned, bytes);
    return {};
  }
  const Driver& driver = shared_.maker.device->driver();
  const DevicePointer device = memory_->begin(buffer);
  return shared_.copies.copy_in_parts(pinned, bytes, [&](std::size_t begin, std::size_t size) {
    return driver.check(driver->memcpy_h_to_d_async(device + begin, pinned + begin, size, stream_.get()),
                        "copying an input to it");
  });
}

Result<void> ReadyPlan::go(const plan::PlannedRun& run) {
  std::fill_n(static_cast<std::uint32_t*>(faults_.get()), faults_of_works_.size(), 0U);
  for (Stretch& stretch : stretches_) {
    if (auto gone = go(stretch, run); !gone) return gone;
    if (auto more = run.may_go_on(); !more) return more.error();
    if (!stretch.host) continue;
    const auto begun = std::chrono::steady_clock::now();
    if (auto done = stretch.host->run(memory_->host().data(), slots_.data(), run); !done)
      return plan::in_step(done.error(), plan_, *stretch.host_step);
    if (run.times) run.add_time(*stretch.host_step, begun, std::chrono::steady_clock::now());
    if (auto more = run.may_go_on(); !more) return more.error();
  }
  return {};
}

Result<void> ReadyPlan::go(Stretch& stretch, const plan::PlannedRun& run) {
  const Driver& driver = shared_.maker.device->driver();
  if (run.times) {
    if (auto made = make_timed(stretch); !made) return made;
    // One after the other, so that each has its own time.
    if (auto sent = send_uploads(stretch, run); !sent) return sent;
  }
  const auto start = std::chrono::steady_clock::now();
  const RunnableGraph& graph = run.times ? stretch.timed : stretch.graph;
  if (graph) {
    if (auto begun = driver.check(driver->graph_launch(graph.get(), stream_.get()), "starting a graph"); !begun)
      return begun.error();
  }
  if (!run.times) {
    if (auto sent = send_uploads(stretch, run); !sent) return sent;
  }
  if (&stretch == &stretches_.back()) {
    if (auto begun = fetch_outputs(); !begun) return begun;
  }
  if (auto done = driver.check(driver->stream_synchronize(stream_.get()), "running a graph"); !done)
    return done.error();
  if (auto found = found_faults(); !found) return found.error();
  if (auto told = tell_times(stretch, run, start); !told) return told;
  return tell_device_time(stretch, run);
}

Result<void> ReadyPlan::send_uploads(const Stretch& stretch, const plan::PlannedRun& run) {
  for (const Step* step : stretch.uploads) {
    const auto begun = std::chrono::steady_clock::now();
    const auto bytes = plan_.constants[plan_.buffers[step->inputs[0].buffer].index].bytes();
    if (auto sent = shared_.uploads->send(memory_->begin(step->outputs[0].buffer), bytes); !sent) return sent;
    if (!run.times) continue;
    if (auto arrived = shared_.uploads->wait(); !arrived) return arrived;
    run.add_time(*step, begun, std::chrono::steady_clock::now());
  }
  return stretch.uploads.empty() ? Result<void>() : shared_.uploads->wait();
}

Result<void> ReadyPlan::found_faults() const {
  const auto* const words = static_cast<const std::uint32_t*>(faults_.get());
  for (std::size_t i = 0; i < faults_of_works_.size(); ++i) {
    if (words[i] != 0) return faults_of_works_[i];
  }
  return {};
}

Result<void> ReadyPlan::fetch_outputs() {
  const Driver& driver = shared_.maker.device->driver();
  fetched_.assign(plan_.outputs.size(), nullptr);
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const std::uint32_t number = plan_.outputs[i].buffer;
    const plan::Buffer& buffer = plan_.buffers[number];
    if (buffer.home != Home::output || memory_->host()[number]) continue;
    auto block = shared_.copies.block(buffer.bytes);
    if (!block) return block.error();
    fetched_[i] = *std::move(block);
    auto begun = driver.check(
        driver->memcpy_d_to_h_async(fetched_[i].get(), memory_->begin(number), buffer.bytes, stream_.get()),
        "copying an output from it");
    if (!begun) return begun;
  }
  return {};
}

std::vector<Value> ReadyPlan::take_outputs() {
  std::vector<Value> values;
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const plan::Port& port = plan_.outputs[i];
    const plan::Buffer& buffer = plan_.buffers[port.buffer];
    if (buffer.home == Home::slot) {
      values.push_back(plan::take_slot(plan_, i, slots_));
      continue;
    }
    const std::byte* const from = memory_->host()[port.buffer];
    auto tensor = fetched_[i]
                      ? Tensor::view(port.type, port.dims, {fetched_[i].get(), buffer.bytes}, fetched_[i])
                      : Tensor::from_bytes(port.type, port.dims, std::vector<std::byte>(from, from + buffer.bytes));
    values.push_back(tensor ? Value(*std::move(tensor)) : Value());
  }
  std::fill(slots_.begin(), slots_.end(), Value());
  fetched_.clear();
  return values;
}

Result<std::vector<Value>> ReadyPlan::run(std::span<const Value> inputs, const plan::PlannedRun& run) {
  const std::uint64_t limit = run.request.limits.memory;
  if (limit != 0 && memory_->bytes() > limit)
    return make_error("memory-limit",
                      fmt::format("the plan needs {} bytes on the GPU, the limit is {}", memory_->bytes(), limit));
  const Current current(*shared_.maker.device);
  if (auto is = current.check(); !is) return is.error();
  auto gone = bind_inputs(inputs, run.unchanged_input);
  if (gone) gone = go(run);
  if (!gone) {
    // Nothing may run any more when the caller gets the error.
    (void)shared_.maker.device->driver()->stream_synchronize(stream_.get());
    if (shared_.uploads) (void)shared_.uploads->wait();
    std::fill(slots_.begin(), slots_.end(), Value());
    return gone.error();
  }
  return take_outputs();
}

}  // namespace onnxkit::cuda
