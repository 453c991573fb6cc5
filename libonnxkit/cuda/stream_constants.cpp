#include "libonnxkit/cuda/stream_constants.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cuda/device.h"
#include "libonnxkit/cuda/memory.h"
#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/step_edit.h"
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

/// Whether the step becomes work of the device, which reads its inputs there.
bool runs_on_device(const Plan& plan, const Step& step) {
  return step.kind != plan::host_step && step.kind != upload_step && !plan::writes_nothing(plan, step);
}

/// By buffer: how many steps on the device read it.
std::vector<std::size_t> readers_of(const Plan& plan) {
  std::vector<std::size_t> readers(plan.buffers.size(), 0);
  for (const Step& step : plan.steps) {
    if (!runs_on_device(plan, step)) continue;
    for (const View& view : step.inputs) ++readers[view.buffer];
  }
  return readers;
}

/// Constants that may be sent in each run. Not those of convolutions and attentions, whose libraries want constants, nor those that the host reads.
std::vector<std::uint32_t> candidates_of(const Plan& plan, std::uint64_t least_bytes) {
  const std::vector<std::size_t> readers = readers_of(plan);
  std::vector<bool> stays(plan.buffers.size(), false);
  for (const Step& step : plan.steps) {
    if (!step.kind.wants_constants_early) continue;
    for (const View& view : step.inputs) stays[view.buffer] = true;
  }
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const bool is_read = plan.buffers[b].home == Home::constant && readers[b] > 0;
    if (is_read && !stays[b] && bytes_of(plan, b).size() >= least_bytes) candidates.push_back(b);
  }
  return candidates;
}

std::uint64_t needed_bytes(const Plan& plan, const ConstantPlaces& places, std::uint32_t constant) {
  const auto content = bytes_of(plan, constant);
  return places.is_there(content) ? 0 : block_bytes(content.size());
}

/// What the plan takes on the device, without what libraries ask for.
std::uint64_t needed_bytes(const Plan& plan, const ConstantPlaces& places) {
  const std::vector<std::size_t> readers = readers_of(plan);
  std::uint64_t values = aligned_bytes(plan.arena_bytes), constants = 0;
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::Buffer& buffer = plan.buffers[b];
    if (buffer.home == Home::input || buffer.home == Home::output) values += aligned_bytes(buffer.bytes);
    if (buffer.home == Home::constant && readers[b] > 0) constants += needed_bytes(plan, places, b);
  }
  return block_bytes(values) + constants;
}

/// Makes a plan of one whose constants have places.
class Streaming {
 public:
  Streaming(const Plan& plan, std::span<const std::uint32_t> streamed)
      : plan_(plan), is_streamed_(plan.buffers.size(), false) {
    for (const std::uint32_t b : streamed) is_streamed_[b] = true;
  }

  Plan run() {
    std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    std::vector<std::vector<Step>> uploads;  // by step that reads some
    std::vector<std::size_t> readers;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      std::vector<Step> made = uploads_for(steps[at]);
      if (made.empty()) continue;
      uploads.push_back(std::move(made));
      readers.push_back(at);
    }
    // The first ones begin with the run, the others while the step runs that the ones before are for.
    std::size_t next = 0;
    const auto add_next = [&] {
      if (next < uploads.size()) std::ranges::move(uploads[next++], std::back_inserter(plan_.steps));
    };
    add_next();
    for (std::size_t at = 0; at < steps.size(); ++at) {
      if (next > 0 && readers[next - 1] == at) add_next();
      plan_.steps.push_back(std::move(steps[at]));
    }
    place_buffers(plan_);
    return std::move(plan_);
  }

 private:
  /// Of what the step reads, which reads the values that they write from now on.
  std::vector<Step> uploads_for(Step& step) {
    std::vector<Step> uploads;
    if (!runs_on_device(plan_, step)) return uploads;
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

  Plan plan_;
  std::vector<bool> is_streamed_;
};

/// The candidates but those that fit into so many bytes, of which those that cost a run least are left to it.
std::vector<std::uint32_t> without_place(const Plan& plan, const ConstantPlaces& places,
                                         std::vector<std::uint32_t> candidates, std::uint64_t room) {
  const std::vector<std::size_t> readers = readers_of(plan);
  // A place saves as many copies of its size as the constant has readers. Of equally many small ones go first, so that runs wait seldom.
  std::ranges::stable_sort(candidates, {}, [&](std::uint32_t b) {
    return std::pair(-static_cast<std::ptrdiff_t>(readers[b]), bytes_of(plan, b).size());
  });
  std::erase_if(candidates, [&](std::uint32_t b) {
    const std::uint64_t bytes = needed_bytes(plan, places, b);
    if (bytes > room) return false;
    room -= bytes;
    return true;
  });
  return candidates;
}

/// As few bytes are sent as it takes: an upload that is alone keeps its place from the beginning on, so what a plan takes is known when it is made.
Plan with_room(const Plan& plan, const ConstantPlaces& places) {
  const std::vector<std::uint32_t> candidates = candidates_of(plan, least_alone_bytes);
  Plan made = Streaming(plan, candidates).run();
  const std::uint64_t least = needed_bytes(made, places);
  std::uint64_t room = places.bytes - std::min(places.bytes, least);
  while (room > 0) {
    Plan tried = Streaming(plan, without_place(plan, places, candidates, room)).run();
    const std::uint64_t needed = needed_bytes(tried, places);
    if (needed <= places.bytes) return tried;
    room -= std::min(room, needed - places.bytes);
  }
  return made;
}

}  // namespace

bool lacks_room(const Plan& plan, const ConstantPlaces& places) {
  return !places.streams_all && needed_bytes(plan, places) > places.bytes &&
         !candidates_of(plan, least_alone_bytes).empty();
}

bool keeps_much(const Plan& plan, const ConstantPlaces& places) {
  return needed_bytes(plan, places) > places.bytes / 2 && !candidates_of(plan, least_alone_bytes).empty();
}

void stream_constants(Plan& plan, const ConstantPlaces& places) {
  if (places.streams_all)
    plan = Streaming(plan, candidates_of(plan, 1)).run();
  else if (lacks_room(plan, places))
    plan = with_room(plan, places);
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (const Step& step : plan.steps) {
    if (step.kind != upload_step) continue;
    ++count;
    bytes += bytes_of(plan, step.inputs[0].buffer).size();
  }
  if (count == 0) return;
  plan.notes.push_back(fmt::format("each run sends {} constant{} of {} bytes to the GPU{}", count,
                                   count == 1 ? "" : "s", bytes,
                                   places.streams_all ? "" : ", whose memory does not hold them"));
}

}  // namespace onnxkit::cuda
