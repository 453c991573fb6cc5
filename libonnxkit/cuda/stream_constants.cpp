#include "libonnxkit/cuda/stream_constants.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cuda/device.h"
#include "libonnxkit/cuda/memory.h"
#include "libonnxkit/plan/program_pass.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::cuda {
namespace {

using plan::Home;
using plan::Plan;
using plan::Step;
using plan::View;

std::span<const std::byte> bytes_of(const Plan& plan, std::uint32_t buffer) {
  return plan.constants[plan.buffers[buffer].index].bytes();
}

/// By buffer: a constant that steps on the device read, none of them as the weights of a convolution, and no host step.
std::vector<bool> candidates_of(const Plan& plan, std::uint64_t least_bytes) {
  std::vector<bool> is_read(plan.buffers.size(), false), stays(plan.buffers.size(), false);
  for (const Step& step : plan.steps) {
    for (const View& view : step.inputs) {
      is_read[view.buffer] = true;
      if (step.kind == plan::host_step || step.kind == plan::convolution_step) stays[view.buffer] = true;
    }
  }
  std::vector<bool> result(plan.buffers.size(), false);
  for (std::uint32_t b = 0; b < result.size(); ++b) {
    result[b] =
        plan.buffers[b].home == Home::constant && is_read[b] && !stays[b] && bytes_of(plan, b).size() >= least_bytes;
  }
  return result;
}

/// What the plan takes on the device without what libraries ask for; `skipped` constants take nothing.
std::uint64_t needed_bytes(const Plan& plan, const ConstantPlaces& places, const std::vector<bool>& skipped) {
  std::uint64_t bytes = aligned_bytes(plan.arena_bytes);
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::Buffer& buffer = plan.buffers[b];
    if (buffer.home == Home::input || buffer.home == Home::output) bytes += aligned_bytes(buffer.bytes);
    if (buffer.home != Home::constant || (b < skipped.size() && skipped[b])) continue;
    const auto content = bytes_of(plan, b);
    if (!places.is_there(content)) bytes += aligned_bytes(content.size());
  }
  return bytes;
}

class Streaming {
 public:
  Streaming(Plan& plan, const std::vector<bool>& is_streamed) : plan_(plan), is_streamed_(is_streamed) {}

  void run() {
    std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    std::vector<std::vector<Step>> uploads(steps.size());
    for (std::size_t at = 0; at < steps.size(); ++at) uploads[at] = uploads_for(steps[at]);
    // The first ones begin with the run, the others while the step runs that the ones before are for.
    std::vector<std::size_t> readers;
    for (std::size_t at = 0; at < steps.size(); ++at)
      if (!uploads[at].empty()) readers.push_back(at);
    std::size_t next = 0;
    const auto add_next = [&] {
      if (next < readers.size()) std::ranges::move(uploads[readers[next++]], std::back_inserter(plan_.steps));
    };
    add_next();
    for (std::size_t at = 0; at < steps.size(); ++at) {
      if (next > 0 && readers[next - 1] == at) add_next();
      plan_.steps.push_back(std::move(steps[at]));
    }
    place_buffers(plan_);
  }

 private:
  /// Of what the step reads, which reads the values that they write from now on.
  std::vector<Step> uploads_for(Step& step) {
    std::vector<Step> uploads;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> values;  // constant, value
    for (View& view : step.inputs) {
      if (view.buffer >= is_streamed_.size() || !is_streamed_[view.buffer]) continue;
      auto known = std::ranges::find(values, view.buffer, &std::pair<std::uint32_t, std::uint32_t>::first);
      if (known == values.end()) {
        const plan::Buffer& constant = plan_.buffers[view.buffer];
        const plan::Dims count = {plan_.constants[constant.index].size()};
        const View from{.buffer = view.buffer, .type = constant.type, .offset = 0, .dims = count, .strides = {1}};
        const View to = new_value(plan_, from.type, count);
        uploads.push_back({.kind = upload_step, .inputs = {from}, .outputs = {to}, .nodes = step.nodes});
        values.emplace_back(view.buffer, to.buffer);
        known = std::prev(values.end());
      }
      view.buffer = known->second;
    }
    return uploads;
  }

  Plan& plan_;
  const std::vector<bool>& is_streamed_;
};

/// Of the candidates those that get no place: small ones are kept first, so that runs wait for few.
std::vector<bool> without_place(const Plan& plan, const ConstantPlaces& places, std::vector<bool> candidates) {
  Plan all = plan;
  Streaming(all, candidates).run();
  const std::uint64_t others = needed_bytes(all, places, candidates);
  std::uint64_t room = places.bytes - std::min(places.bytes, others);
  std::vector<std::uint32_t> order;
  for (std::uint32_t b = 0; b < candidates.size(); ++b)
    if (candidates[b]) order.push_back(b);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t b) { return bytes_of(plan, b).size(); });
  for (const std::uint32_t b : order) {
    const auto content = bytes_of(plan, b);
    const std::uint64_t bytes = places.is_there(content) ? 0 : aligned_bytes(content.size());
    if (bytes > room) continue;
    room -= bytes;
    candidates[b] = false;
  }
  return candidates;
}

}  // namespace

bool stream_constants(Plan& plan, const ConstantPlaces& places) {
  std::vector<bool> streamed = candidates_of(plan, places.streams_all ? 1 : least_alone_bytes);
  if (!places.streams_all) {
    if (needed_bytes(plan, places, {}) <= places.bytes) return false;
    streamed = without_place(plan, places, std::move(streamed));
  }
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t b = 0; b < streamed.size(); ++b) {
    if (!streamed[b]) continue;
    ++count;
    bytes += bytes_of(plan, b).size();
  }
  if (count == 0) return false;
  Streaming(plan, streamed).run();
  plan.notes.push_back(fmt::format("{} constants of {} bytes are sent to the GPU in each run{}", count, bytes,
                                   places.streams_all ? "" : ", as its memory does not hold them"));
  return true;
}

}  // namespace onnxkit::cuda
