#include "libonnxkit/cpu/session.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/system/forget_pages.h"
#include "libonnxkit/cpu/widen_constants.h"
#include "libonnxkit/plan/places.h"

namespace onnxkit::cpu {

using plan::Home;

ReadyPlan::ReadyPlan(plan::Plan plan, std::shared_ptr<ThreadPool> threads)
    : plan_(std::move(plan)),
      threads_(std::move(threads)),
      slots_(plan_.slots),
      outputs_(plan_.outputs.size()),
      written_(plan_.outputs.size()),
      copies_(plan_.inputs.size()) {}

Result<std::unique_ptr<plan::Executable>> ReadyPlan::make(plan::Plan plan, Shared& shared,
                                                          const plan::PlannedRun& run) {
  widen_constants(plan);
  std::unique_ptr<ReadyPlan> ready(new ReadyPlan(std::move(plan), shared.load.context->threads(shared.load.threads)));
  Preparation preparation{ready->plan_, shared.packed, *ready->threads_,
                          *shared.host, shared.load,   std::vector<std::uint32_t>(ready->plan_.buffers.size())};
  ready->are_read_ = plan::read_buffers(ready->plan_);
  std::vector<std::uint32_t> reads(ready->plan_.buffers.size());
  for (const plan::Step& step : ready->plan_.steps) {
    for (const View& view : step.inputs) ++reads[view.buffer];
  }
  for (const plan::Step& step : ready->plan_.steps) {
    if (plan::writes_nothing(ready->plan_, step)) continue;
    if (auto more = run.may_go_on(); !more) return more.error();
    const MakeKernel make = kernel_registry().find(step.kind);
    if (!make)
      return make_error("not-supported",
                        fmt::format("the backend cpu has no kernel for steps of the kind {}", step.kind.name));
    preparation.packs_anew = false;
    auto kernel = make(step, preparation);
    if (!kernel) return kernel.error();
    ready->held_bytes_ += (*kernel)->held_bytes();
    ready->scratch_bytes_ = std::max(ready->scratch_bytes_, (*kernel)->scratch_bytes());
    ready->kernels_.push_back(*std::move(kernel));
    ready->kernel_steps_.push_back(&step);
    ready->release_packed(preparation, step, reads);
  }
  for (const plan::Buffer& buffer : ready->plan_.buffers) {
    std::byte* base = nullptr;
    if (buffer.home == Home::constant) {
      const auto content = ready->plan_.constants[buffer.index].bytes();
      base = const_cast<std::byte*>(content.data());
      const auto width = std::max<std::uintptr_t>(static_cast<std::uintptr_t>(storage_bits(buffer.type)) / 8, 1);
      if (reinterpret_cast<std::uintptr_t>(base) % width != 0) {
        ready->constants_.push_back(preparation.aligned(ready->plan_.constants[buffer.index]));
        base = reinterpret_cast<std::byte*>(ready->constants_.back()->data());
      }
    }
    ready->bases_.push_back(base);
  }
  ready->packed_bytes_ = preparation.packed_bytes;
  return std::unique_ptr<plan::Executable>(std::move(ready));
}

void ReadyPlan::release_packed(const Preparation& preparation, const plan::Step& step,
                               const std::vector<std::uint32_t>& reads) {
  for (const View& view : step.inputs) {
    const plan::Buffer& buffer = plan_.buffers[view.buffer];
    if (buffer.home != Home::constant || preparation.packed_reads[view.buffer] != reads[view.buffer]) continue;
    const auto bytes = plan_.constants[buffer.index].bytes();
    if (preparation.packs_anew) {
      for (const auto& file : plan_.files)
        forget_pages(*file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    plan_.constants[buffer.index] = Tensor();
  }
}

Result<void> ReadyPlan::make_arena() {
  if (arena_) return {};
  try {
    arena_ = make_block(plan_.arena_bytes);
  } catch (const std::bad_alloc&) {
    return make_error(
        "out-of-memory",
        fmt::format("the system has not enough memory for {} bytes of values between steps", plan_.arena_bytes));
  }
  for (std::size_t b = 0; b < plan_.buffers.size(); ++b)
    if (plan_.buffers[b].home == Home::arena) bases_[b] = arena_.get() + plan_.buffers[b].offset;
  return {};
}

Result<void> ReadyPlan::bind_inputs(std::span<const Value> inputs) {
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    const plan::Buffer& buffer = plan_.buffers[plan_.inputs[i].buffer];
    if (buffer.home == Home::slot) {
      slots_[buffer.index] = inputs[i];
      continue;
    }
    const auto bytes = inputs[i].tensor.bytes();
    if (bytes.size() != buffer.bytes)
      return make_error("input-shape",
                        fmt::format("the input {} has another size than the plan", plan_.inputs[i].name));
    if (!are_read_[plan_.inputs[i].buffer]) continue;
    const std::byte* from = bytes.data();
    constexpr std::uintptr_t widest = 8;
    if (reinterpret_cast<std::uintptr_t>(from) % widest != 0) {
      copies_[i].assign(bytes.begin(), bytes.end());
      from = copies_[i].data();
    }
    bases_[plan_.inputs[i].buffer] = const_cast<std::byte*>(from);
  }
  return {};
}

Result<void> ReadyPlan::bind_outputs() {
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const plan::Port& port = plan_.outputs[i];
    const plan::Buffer& buffer = plan_.buffers[port.buffer];
    if (buffer.home != Home::output) continue;
    try {
      written_[i] = outputs_[i].lend([&] { return std::shared_ptr<std::byte>(make_block(buffer.bytes)); });
    } catch (const std::bad_alloc&) {
      return make_error("out-of-memory", fmt::format("the system has not enough memory for the {} bytes of output {}",
                                                     buffer.bytes, quote(port.name)));
    }
    bases_[port.buffer] = written_[i].get();
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
    const std::span<const std::byte> bytes(bases_[port.buffer], buffer.bytes);
    auto tensor = Tensor::view(port.type, port.dims, bytes, std::move(written_[i]));
    values.push_back(tensor ? Value(*std::move(tensor)) : Value());
  }
  return values;
}

void ReadyPlan::drop_values() {
  std::fill(slots_.begin(), slots_.end(), Value());
  std::fill(written_.begin(), written_.end(), nullptr);
}

Result<std::vector<Value>> ReadyPlan::run(std::span<const Value> inputs, const plan::PlannedRun& run) {
  const exec::RunRequest& request = run.request;
  const std::uint64_t of_kernels = packed_bytes_ + held_bytes_ + scratch_bytes_;
  if (auto fits = check_memory(plan_, request.limits.memory, of_kernels); !fits) return fits.error();
  if (auto made = make_arena(); !made) return made.error();
  // What an error leaves behind.
  const std::unique_ptr<ReadyPlan, void (*)(ReadyPlan*)> values(this, [](ReadyPlan* plan) { plan->drop_values(); });
  if (auto bound = bind_inputs(inputs); !bound) return bound.error();
  if (auto bound = bind_outputs(); !bound) return bound.error();
  const ThreadPool::Busy busy(*threads_);
  RunState state{.threads = threads_.get(), .bases = bases_.data(), .slots = slots_.data(), .run = &run, .error = {}};
  const bool may_end = request.stop.stop_possible() || run.deadline != std::chrono::steady_clock::time_point::max();
  std::optional<ThreadPool::Watch> watch;
  if (may_end) watch.emplace([&run] { return !run.may_go_on(); });
  std::size_t at = 0;
  try {
    for (; at < kernels_.size(); ++at) {
      const auto start = run.times ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
      kernels_[at]->run(state);
      if (auto more = run.may_go_on(); !more) return plan::in_step(more.error(), plan_, *kernel_steps_[at]);
      if (state.error) return plan::in_step(*state.error, plan_, *kernel_steps_[at]);
      if (run.times) run.add_time(*kernel_steps_[at], start, std::chrono::steady_clock::now());
    }
  } catch (const ThreadPool::Interrupted&) {
    return plan::in_step(run.may_go_on().error(), plan_, *kernel_steps_[at]);
  } catch (const std::bad_alloc&) {
    return plan::in_step(make_error("out-of-memory", "the system has not enough memory for this step"), plan_,
                         *kernel_steps_[at]);
  }
  return take_outputs();
}

}  // namespace onnxkit::cpu
