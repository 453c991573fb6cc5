#include "libonnxkit/cuda/session.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/channels_last_images.h"
#include "libonnxkit/cuda/channels_last_weights.h"
#include "libonnxkit/cuda/guard_masks.h"
#include "libonnxkit/cuda/pad_channels.h"
#include "libonnxkit/cuda/split_reductions.h"
#include "libonnxkit/cuda/stopwatch.h"
#include "libonnxkit/cuda/stream_constants.h"
#include "libonnxkit/plan/declared_types.h"
#include "libonnxkit/plan/fp8_products.h"
#include "libonnxkit/plan/places.h"
#include "libonnxkit/plan/precision.h"

// Making a plan ready.
namespace onnxkit::cuda {

using plan::Home;
using plan::Step;

namespace {

Result<void> set_precision(plan::Plan& plan, const Shared& shared) {
  switch (shared.precision) {
    case Precision::f64:
      return plan::widen(plan, shared.rounds);
    case Precision::f16:
      return plan::narrow(plan, ElementType::float16);
    case Precision::bf16:
      return plan::narrow(plan, ElementType::bfloat16);
    case Precision::fp8: {
      auto narrowed = plan::narrow(plan, ElementType::float16);
      if (narrowed) plan::use_fp8_products(plan);
      return narrowed;
    }
    default:
      plan::use_declared_types(plan);
      return {};
  }
}

bool has_narrow_attention(const plan::Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return step.kind == plan::attention_step && is_16_bit_real(step.inputs[0].type);
  });
}

/// Where constants may stay: a twentieth of the device's memory is left for libraries and programs, or a quarter of what others leave.
Result<ConstantPlaces> places_for_constants(const Shared& shared) {
  std::size_t free = 0, total = 0;
  const Driver& driver = shared.maker.device->driver();
  if (auto told = driver.check(driver->mem_get_info(&free, &total), "telling its free memory"); !told)
    return told.error();
  return ConstantPlaces{.bytes = (free - std::min(total / 20, free / 4)) >> shared.halvings,
                        .streams_all = shared.streams_weights,
                        .is_there = [&shared](auto bytes) { return shared.constants.find(bytes) != nullptr; }};
}

/// Constants of a plan that the device has: they stay while this lives, though the plan that brought them goes.
std::vector<SharedConstants::Memory> constants_there(const plan::Plan& plan, const Shared& shared) {
  std::vector<SharedConstants::Memory> there;
  for (const Tensor& constant : plan.constants) there.push_back(shared.constants.find(constant.bytes()));
  return there;
}

/// Older plans go before this one begins to send constants. Of those that they brought it gets what is there, to be held until its memory is made.
Result<std::vector<SharedConstants::Memory>> place_constants(plan::Plan& plan, Shared& shared) {
  std::vector<SharedConstants::Memory> there;
  auto places = places_for_constants(shared);
  while (places && lacks_room(plan, *places)) {
    if (there.empty()) there = constants_there(plan, shared);
    if (!shared.kept_plans->give_up_oldest()) break;
    places = places_for_constants(shared);
  }
  if (!places) return places.error();
  stream_constants(plan, *places);
  shared.can_send_more = keeps_much(plan, *places);
  return there;
}

}  // namespace

bool takes_less(Shared& shared) {
  constexpr int most_halvings = 6;
  if (!shared.can_send_more || shared.halvings == most_halvings) return false;
  ++shared.halvings;
  return true;
}

Result<std::unique_ptr<plan::Executable>> ReadyPlan::make(plan::Plan plan, Shared& shared, plan::HostNodes& refused,
                                                          const plan::PlannedRun& run) {
  const Current current(*shared.maker.device);
  if (auto is = current.check(); !is) return is.error();
  std::unordered_set<const std::byte*> given;
  for (const Tensor& constant : plan.constants) given.insert(constant.bytes().data());
  if (auto set = set_precision(plan, shared); !set) return set.error();
  const bool has_cudnn = std::any_of(shared.libraries.begin(), shared.libraries.end(),
                                     [](const auto& library) { return library->name() == "cudnn"; });
  if (has_cudnn && has_narrow_attention(plan)) guard_masks(plan);
  if (has_cudnn) channels_last_images(plan);
  split_reductions(plan);
  if (shared.most_streams > 1) place_side_by_side(plan, shared.most_streams);
  const auto there = place_constants(plan, shared);
  if (!there) return there.error();
  std::vector<Step> once;
  if (has_cudnn) {
    auto padded = pad_channels(plan, shared.precision == Precision::tf32);
    if (!padded) return padded.error();
    once = *std::move(padded);
    if (auto ordered = channels_last_weights(plan); !ordered) return ordered.error();
  }
  std::unique_ptr<ReadyPlan> ready(new ReadyPlan(std::move(plan), shared));
  ready->given_ = std::move(given);
  ready->once_steps_ = std::move(once);
  if (auto added = ready->add_steps(refused, run); !added) return added.error();
  if (auto compiled = ready->compile(); !compiled) return compiled.error();
  if (auto more = run.may_go_on(); !more) return more.error();
  ready->choose_streams();
  if (auto placed = ready->place(); !placed) return placed.error();
  if (auto placed = ready->place_faults(); !placed) return placed.error();
  ready->plan_copies();
  auto stream = make_stream(shared.maker.device);
  if (!stream) return stream.error();
  ready->stream_ = *std::move(stream);
  if (auto ran = ready->run_once(); !ran) return ran.error();
  if (auto scheduled = ready->schedule_works(); !scheduled) return scheduled.error();
  if (auto made = ready->make_graphs(); !made) return made.error();
  return std::unique_ptr<plan::Executable>(std::move(ready));
}

ReadyPlan::~ReadyPlan() {
  // Nothing may run any more, and what libraries hold is given back in the context that it was made in.
  const Current current(*shared_.maker.device);
  if (stream_) (void)shared_.maker.device->driver()->stream_synchronize(stream_.get());
  stretches_.clear();
}

Shared::~Shared() {
  if (libraries.empty()) return;
  const Current current(*maker.device);
  libraries.clear();
}

Result<void> ReadyPlan::add_steps(plan::HostNodes& refused, const plan::PlannedRun& run) {
  std::unique_ptr<Stopwatch> stopwatch;
  if (shared_.measures_engines) {
    auto made = Stopwatch::make(shared_.maker.device);
    if (!made) return made.error();
    stopwatch = *std::move(made);
  }
  Chooser chooser(shared_.libraries, shared_.maker);
  stretches_.emplace_back();
  Result<void> first_fault;
  /// False where the steps behind it need not be looked at.
  const auto goes_on = [&](const Step& step, const Result<void>& added) {
    if (added) return true;
    if (first_fault) first_fault = plan::in_step(added.error(), plan_, step);
    const Diagnostic& fault = added.error().diagnostic;
    if (fault.code != "not-supported" || step.kind == plan::host_step) return false;
    for (const std::string& node : step.nodes) refused.emplace(node, fault.message);
    return true;
  };
  for (Step& step : plan_.steps) {
    if (plan::writes_nothing(plan_, step)) continue;
    if (auto more = run.may_go_on(); !more) return more.error();
    if (!goes_on(step, add_step(step, chooser, stopwatch.get()))) return first_fault;
  }
  for (const Step& step : once_steps_) {
    if (!goes_on(step, add_launches(once_, step, step))) return first_fault;
  }
  return first_fault;
}

Result<void> ReadyPlan::run_once() {
  if (once_.works.empty()) return {};
  for (DeviceWork& work : once_.works) {
    if (auto done = enqueue(work, stream_.get()); !done) return done;
  }
  const Driver& driver = shared_.maker.device->driver();
  return driver.check(driver->stream_synchronize(stream_.get()), "preparing its memory");
}

Result<void> ReadyPlan::add_step(Step& step, Chooser& chooser, Stopwatch* stopwatch) {
  if (step.kind == plan::host_step) return add_host_step(step);
  if (step.kind == upload_step) {
    add_upload(step);
    return {};
  }
  if (waits_for_uploads(step)) stretches_.emplace_back();
  auto chosen = chooser.choose(
      step, {.plan = plan_, .allows_tf32 = shared_.precision == Precision::tf32, .stopwatch = stopwatch});
  if (!chosen) return chosen.error();
  step.by = chosen->by;
  if (chosen->library) return add_library_step(*std::move(chosen->library), step);
  return add_launches(stretches_.back(), step, step);
}

Result<void> ReadyPlan::add_host_step(const Step& step) {
  if (!host_steps_) host_steps_.emplace(plan_);
  auto node = plan::HostNode::make(*host_steps_, step, *shared_.host, shared_.load);
  if (!node) return node.error();
  stretches_.back().host = *std::move(node);
  stretches_.back().host_step = &step;
  stretches_.emplace_back();
  return {};
}

/// An upload may write where earlier steps read, and where results of a host step were that nobody reads but the graph behind it copies: it waits for
/// both.
void ReadyPlan::add_upload(const Step& step) {
  const bool is_behind_host = stretches_.size() > 1 && stretches_[stretches_.size() - 2].host_step;
  if (!stretches_.back().works.empty() || is_behind_host) stretches_.emplace_back();
  stretches_.back().uploads.push_back(&step);
}

bool ReadyPlan::has_uploads() const {
  return std::ranges::any_of(stretches_, [](const Stretch& stretch) { return !stretch.uploads.empty(); });
}

bool ReadyPlan::waits_for_uploads(const Step& step) const {
  const auto is_sent = [&](const View& view) {
    return std::ranges::any_of(stretches_.back().uploads,
                               [&](const Step* upload) { return upload->outputs[0].buffer == view.buffer; });
  };
  return std::ranges::any_of(step.inputs, is_sent);
}

Result<void> ReadyPlan::add_library_step(LibraryStep made, const Step& step) {
  stretches_.back().works.push_back({.launch = {}, .call = std::move(made.call), .step = &step});
  if (!made.rest) return {};
  return add_launches(stretches_.back(), *made.rest, step);
}

Result<void> ReadyPlan::add_launches(Stretch& stretch, const Step& step, const Step& of) {
  const WriteStep write = step_registry().find(step.kind);
  if (!write)
    return make_error("not-supported",
                      fmt::format("the backend cuda has no kernel for steps of the kind {}", step.kind.name));
  const Preparation preparation{.plan = plan_, .allows_tf32 = shared_.precision == Precision::tf32};
  auto launches = write(step, preparation);
  if (!launches) return launches.error();
  for (Launch& launch : *launches) stretch.works.push_back({.launch = std::move(launch), .call = nullptr, .step = &of});
  return {};
}

Result<void> ReadyPlan::compile() {
  std::vector<DeviceWork*> launched;
  const auto add = [&launched](Stretch& stretch) {
    for (DeviceWork& work : stretch.works)
      if (work.launch) launched.push_back(&work);
  };
  for (Stretch& stretch : stretches_) add(stretch);
  add(once_);
  std::vector<const Launch*> launches;
  std::vector<const Step*> steps;
  for (const DeviceWork* work : launched) {
    launches.push_back(&*work->launch);
    steps.push_back(work->step);
  }
  auto made = make_kernels(shared_.maker, launches, steps, &shared_.kernels);
  if (!made) return made.error();
  kernels_ = *std::move(made);
  if (!kernels_.note.empty()) plan_.notes.push_back(kernels_.note);
  for (std::size_t i = 0; i < launched.size(); ++i) launched[i]->kernel = kernels_.by_launch[i];
  return {};
}

Result<void> ReadyPlan::place() {
  PlanMemory::Options options;
  options.fetched_bytes = HostCopies::large;
  options.apart = shared_.memory_apart;
  options.is_shared.resize(plan_.buffers.size());
  options.is_on_host.resize(plan_.buffers.size());
  options.is_on_device.resize(plan_.buffers.size());
  std::vector<bool> is_read(plan_.buffers.size());  // from memory of the host, in each run
  for (const Stretch& stretch : stretches_) {
    for (const Step* upload : stretch.uploads) is_read[upload->inputs[0].buffer] = true;
    if (!stretch.host_step) continue;
    for (const View& view : stretch.host_step->inputs) options.is_on_host[view.buffer] = true;
    for (const View& view : stretch.host_step->outputs) options.is_on_host[view.buffer] = true;
  }
  for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b) {
    if (plan_.buffers[b].home != Home::constant) continue;
    options.is_shared[b] = given_.contains(plan_.constants[plan_.buffers[b].index].bytes().data());
    is_read[b] = is_read[b] || options.is_shared[b] || options.is_on_host[b];
  }
  options.workspaces.resize(shared_.most_streams);
  for (const Stretch& stretch : stretches_) {
    for (const DeviceWork& work : stretch.works) {
      for (const View& view : work.operands()) options.is_on_device[view.buffer] = true;
      std::uint64_t& workspace = options.workspaces[work.stream];
      if (work.call) workspace = std::max(workspace, work.call->workspace_bytes());
    }
  }
  auto memory = PlanMemory::make(shared_.maker.device, plan_, options, shared_.constants);
  if (!memory) return memory.error();
  memory_ = *std::move(memory);
  // Converted weights are on the device now; nobody reads those of the host again.
  for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b) {
    if (plan_.buffers[b].home == Home::constant && !is_read[b]) plan_.constants[plan_.buffers[b].index] = Tensor();
  }
  if (!has_uploads() || shared_.uploads) return {};
  auto uploads = Uploads::make(shared_.maker.device, shared_.copies);
  if (!uploads) return uploads.error();
  shared_.uploads = *std::move(uploads);
  return {};
}

/// Pinned memory has one address on the host and on the device.
Result<void> ReadyPlan::place_faults() {
  std::vector<DeviceWork*> works;
  for (Stretch& stretch : stretches_) {
    for (DeviceWork& work : stretch.works) {
      if (!work.launch || work.launch->fault.empty()) continue;
      works.push_back(&work);
      faults_of_works_.push_back(plan::in_step(make_error("kernel", work.launch->fault), plan_, *work.step));
    }
  }
  if (works.empty()) return {};
  auto words = allocate_pinned(shared_.maker.device, works.size() * sizeof(std::uint32_t));
  if (!words) return words.error();
  faults_ = *std::move(words);
  for (std::size_t i = 0; i < works.size(); ++i) works[i]->fault = static_cast<std::uint32_t*>(faults_.get()) + i;
  return {};
}

/// The bytes between the first and the last element of an operand of a host step, which lies without gaps; nothing for what is not on the device.
std::optional<ReadyPlan::Copy> ReadyPlan::copy_of(const View& view) const {
  const Home home = plan_.buffers[view.buffer].home;
  if (home == Home::slot || home == Home::constant || view.size() == 0) return std::nullopt;
  const auto width = static_cast<std::uint64_t>(storage_bits(view.type)) / 8;
  return Copy{.buffer = view.buffer,
              .begin = static_cast<std::uint64_t>(view.offset) * width,
              .bytes = static_cast<std::uint64_t>(view.size()) * width,
              .device = memory_->at(view)};
}

bool ReadyPlan::is_sent_in_parts(const plan::Buffer& buffer) const {
  return buffer.home == Home::input && buffer.bytes >= HostCopies::large;
}

void ReadyPlan::plan_copies() {
  const auto whole = [&](const plan::Port& port) -> std::optional<Copy> {
    const plan::Buffer& buffer = plan_.buffers[port.buffer];
    if (buffer.home == Home::slot || buffer.bytes == 0) return std::nullopt;
    return Copy{.buffer = port.buffer, .begin = 0, .bytes = buffer.bytes, .device = memory_->begin(port.buffer)};
  };
  are_read_ = plan::read_buffers(plan_);
  for (const plan::Port& port : plan_.inputs) {
    if (!are_read_[port.buffer] || is_sent_in_parts(plan_.buffers[port.buffer])) continue;
    if (const auto copy = whole(port)) stretches_.front().to_device.push_back(*copy);
  }
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    const Step* const step = stretches_[i].host_step;
    if (!step) continue;
    for (const View& view : step->inputs) {
      const bool is_input = plan_.buffers[view.buffer].home == Home::input;
      if (const auto copy = copy_of(view); copy && !is_input) stretches_[i].to_host.push_back(*copy);
    }
    for (const View& view : step->outputs) {
      if (const auto copy = copy_of(view)) stretches_[i + 1].to_device.push_back(*copy);
    }
  }
  for (const plan::Port& port : plan_.outputs) {
    if (plan_.buffers[port.buffer].home != Home::output || !memory_->host()[port.buffer]) continue;
    if (const auto copy = whole(port)) stretches_.back().to_host.push_back(*copy);
  }
  // What a host step has written need not come back for the next when nothing ran between them.
  for (std::size_t i = 1; i < stretches_.size(); ++i) {
    Stretch& stretch = stretches_[i];
    if (!stretch.works.empty()) continue;
    std::erase_if(stretch.to_host, [&](const Copy& copy) {
      return std::find(stretch.to_device.begin(), stretch.to_device.end(), copy) != stretch.to_device.end();
    });
  }
}

Result<void> ReadyPlan::enqueue(DeviceWork& work, DriverStream stream) {
  const Driver& driver = shared_.maker.device->driver();
  std::vector<DevicePointer> pointers;
  std::vector<void*> parameters;
  for (const View& view : work.operands()) pointers.push_back(memory_->at(view));
  if (work.call) {
    for (const DevicePointer pointer : pointers) parameters.push_back(reinterpret_cast<void*>(pointer));
    return work.call->enqueue(stream, parameters, reinterpret_cast<void*>(memory_->workspace(work.stream)));
  }
  if (work.fault) pointers.push_back(reinterpret_cast<DevicePointer>(work.fault));
  for (DevicePointer& pointer : pointers) parameters.push_back(&pointer);
  // A parameter of fewer bytes than these is read from the lower ones.
  for (std::int64_t& number : work.kernel.numbers) parameters.push_back(&number);
  const DriverStatus status = driver->launch_kernel(work.kernel.function, work.launch->blocks, 1, 1,
                                                    work.launch->threads, 1, 1, 0, stream, parameters.data(), nullptr);
  if (status == driver_success) return {};
  return driver.check(status, fmt::format("launching the kernel of a step {}", work.step->kind.name));
}

Result<void> ReadyPlan::record(const Event& event, DriverStream stream, unsigned flags) const {
  const Driver& driver = shared_.maker.device->driver();
  return driver.check(driver->event_record(event.get(), stream, flags), "recording an event");
}

Result<void> ReadyPlan::enqueue_works(Stretch& stretch, Form form) {
  std::size_t events = 0;
  const auto mark = [&]() -> Result<void> {
    return form == Form::profile ? record(stretch.events[events++], stream_.get(), event_external) : Result<void>();
  };
  if (auto marked = mark(); !marked) return marked;
  for (std::size_t i = 0; i < stretch.works.size(); ++i) {
    if (auto done = enqueue(stretch.works[i], stream_.get()); !done) return done;
    const bool is_last = i + 1 == stretch.works.size() || stretch.works[i + 1].step != stretch.works[i].step;
    if (!is_last) continue;
    if (auto marked = mark(); !marked) return marked;
  }
  return {};
}

Result<void> ReadyPlan::enqueue(Stretch& stretch, Form form, std::vector<Event>& edges) {
  const Driver& driver = shared_.maker.device->driver();
  const std::vector<std::byte*>& host = memory_->host();
  const std::string_view copying = "copying between it and the host";
  for (const Copy& copy : stretch.to_device) {
    const DriverStatus status =
        driver->memcpy_h_to_d_async(copy.device, host[copy.buffer] + copy.begin, copy.bytes, stream_.get());
    if (auto begun = driver.check(status, copying); !begun) return begun;
  }
  if (form != Form::profile) {
    if (auto marked = record(stretch.start, stream_.get(), event_external); !marked) return marked;
  }
  auto done = form == Form::branches ? enqueue_branches(stretch, edges) : enqueue_works(stretch, form);
  if (!done) return done;
  if (form != Form::profile) {
    if (auto marked = record(stretch.end, stream_.get(), event_external); !marked) return marked;
  }
  for (const Copy& copy : stretch.to_host) {
    const DriverStatus status =
        driver->memcpy_d_to_h_async(host[copy.buffer] + copy.begin, copy.device, copy.bytes, stream_.get());
    if (auto begun = driver.check(status, copying); !begun) return begun;
  }
  return {};
}

Result<RunnableGraph> ReadyPlan::capture(Stretch& stretch, Form form) {
  if (stretch.to_device.empty() && stretch.works.empty() && stretch.to_host.empty()) return RunnableGraph();
  std::vector<Event> edges;  // that are kept until the capture ends
  return capture_graph(shared_.maker.device, stream_.get(), [&] { return enqueue(stretch, form, edges); });
}

}  // namespace onnxkit::cuda
