#include "libonnxkit/cpu/session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::cpu {

using plan::Home;

void ReadyPlan::Free::operator()(std::byte* memory) const { std::free(memory); }

ReadyPlan::ReadyPlan(plan::Plan plan, Shared& shared)
    : plan_(std::move(plan)), slots_(plan_.slots), outputs_(plan_.outputs.size()), copies_(plan_.inputs.size()) {
  if (plan_.rest) rest_ = std::make_unique<Planned>(plan_.rest, shared, true);
}
ReadyPlan::~ReadyPlan() = default;

Result<std::unique_ptr<ReadyPlan>> ReadyPlan::make(plan::Plan plan, Shared& shared) {
  std::unique_ptr<ReadyPlan> ready(new ReadyPlan(std::move(plan), shared));
  const auto threads = shared.options.context->threads(shared.options.threads);
  Preparation preparation{ready->plan_, shared.packed, *threads, *shared.host, shared.options};
  for (const plan::Step& step : ready->plan_.steps) {
    const MakeKernel make = kernel_registry().find(step.kind);
    if (!make)
      return make_error("not-supported",
                        fmt::format("the backend cpu has no kernel for steps of the kind {}", step.kind));
    auto kernel = make(step, preparation);
    if (!kernel) return kernel.error();
    ready->kernels_.push_back(*std::move(kernel));
  }
  constexpr std::size_t alignment = 64;
  const std::size_t bytes = (ready->plan_.arena_bytes + alignment) / alignment * alignment;
  ready->arena_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, bytes)));
  if (!ready->arena_)
    return make_error("out-of-memory", fmt::format("the plan needs {} bytes for values between its steps", bytes));
  for (const plan::Buffer& buffer : ready->plan_.buffers) {
    std::byte* base = nullptr;
    if (buffer.home == Home::arena) base = ready->arena_.get() + buffer.offset;
    if (buffer.home == Home::constant) {
      const auto content = ready->plan_.constants[buffer.index].bytes();
      base = const_cast<std::byte*>(content.data());
      constexpr std::uintptr_t widest = 8;
      if (reinterpret_cast<std::uintptr_t>(base) % widest != 0)
        base = ready->constants_.emplace_back(content.begin(), content.end()).data();
    }
    ready->bases_.push_back(base);
  }
  return ready;
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

std::vector<Value> ReadyPlan::take_outputs() {
  std::vector<Value> values;
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const plan::Port& port = plan_.outputs[i];
    const plan::Buffer& buffer = plan_.buffers[port.buffer];
    if (buffer.home == Home::slot) {
      values.push_back(slots_[buffer.index]);
      continue;
    }
    auto tensor = Tensor::from_bytes(port.type, port.dims, std::move(outputs_[i]));
    values.push_back(tensor ? Value(*std::move(tensor)) : Value());
  }
  std::fill(slots_.begin(), slots_.end(), Value());
  return values;
}

Result<std::vector<Value>> ReadyPlan::run(std::span<const Value> inputs, const exec::RunRequest& request,
                                          ThreadPool& threads, std::chrono::steady_clock::time_point deadline) {
  if (request.limits.memory != 0 && plan_.arena_bytes > request.limits.memory)
    return make_error("memory-limit", fmt::format("the plan needs {} bytes, the limit is {}", plan_.arena_bytes,
                                                  request.limits.memory));
  if (auto bound = bind_inputs(inputs); !bound) return bound.error();
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const plan::Buffer& buffer = plan_.buffers[plan_.outputs[i].buffer];
    if (buffer.home != Home::output) continue;
    outputs_[i].resize(std::max<std::uint64_t>(buffer.bytes, 1));
    outputs_[i].resize(buffer.bytes);
    bases_[plan_.outputs[i].buffer] = outputs_[i].data();
  }
  RunState state{.threads = &threads, .bases = bases_.data(), .slots = slots_.data(), .request = &request, .error = {}};
  const bool is_limited = deadline != std::chrono::steady_clock::time_point::max();
  for (const auto& kernel : kernels_) {
    kernel->run(state);
    if (state.error) return *state.error;
    if (request.stop.stop_requested()) return make_error("cancelled", "the run was cancelled");
    if (is_limited && std::chrono::steady_clock::now() > deadline)
      return make_error("time-limit", fmt::format("the run took longer than {} ms", request.limits.time.count()));
  }
  return take_outputs();
}

// ---- models and their plans

std::string Planned::key_of(const std::vector<NamedValue>& given) const {
  std::string key;
  for (const NamedValue& input : given) {
    const Value& value = input.value;
    key += fmt::format("{}:{}", input.name, static_cast<int>(value.kind));
    if (!value.is_tensor()) continue;
    key += fmt::format(" {} {}", static_cast<int>(value.tensor.type()), fmt::join(value.tensor.dims(), ","));
    constexpr std::int64_t most = 64;
    if (is_rest_ && value.tensor.size() <= most && !is_floating(value.tensor.type())) {
      const auto bytes = value.tensor.bytes();
      key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    key += ';';
  }
  return key;
}

Result<ReadyPlan*> Planned::plan_for(const std::vector<NamedValue>& given) {
  const std::string key = key_of(given);
  const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const auto& entry) { return entry.first == key; });
  if (known != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, known);
    return plans_.front().second.get();
  }
  plan::BuildOptions options;
  options.table = shared_.table;
  options.without_passes = shared_.without_passes;
  options.allow_outside_data = shared_.options.allow_outside_data;
  options.fixes_small_inputs = is_rest_;
  options.evaluate = [this](const ir::Model& model) -> Result<std::vector<NamedValue>> {
    exec::LoadOptions load;
    load.context = shared_.options.context;
    load.table = shared_.table;
    load.allow_outside_data = shared_.options.allow_outside_data;
    const std::shared_ptr<const ir::Model> view(std::shared_ptr<const void>(), &model);
    auto session = shared_.host->load({.model = view}, load);
    if (!session) return session.error();
    auto answer = (*session)->run({});
    if (!answer) return answer.error();
    return std::move(answer->outputs);
  };
  auto built = plan::build(*model_, given, options);
  if (!built) return built.error();
  auto ready = ReadyPlan::make(*std::move(built), shared_);
  if (!ready) return ready.error();
  plans_.emplace_front(key, *std::move(ready));
  if (plans_.size() > most_plans) plans_.pop_back();
  return plans_.front().second.get();
}

void Planned::report(exec::PlanReport& report) const {
  for (const auto& [key, ready] : plans_) {
    report.text += plan::text_of(ready->plan());
    for (const plan::Step& step : ready->plan().steps) {
      if (step.kind != plan::host_step) continue;
      const auto& parameters = static_cast<const plan::HostParameters&>(*step.parameters);
      report.notes.push_back(fmt::format("node {} ({}) runs on the reference: {}", quote(step.nodes.front()),
                                         parameters.op, parameters.reason));
    }
    if (ready->rest()) ready->rest()->report(report);
  }
}

Result<std::vector<NamedValue>> Planned::run(const std::vector<NamedValue>& given, const exec::RunRequest& request,
                                             ThreadPool& threads, std::chrono::steady_clock::time_point deadline) {
  const auto found = plan_for(given);
  if (!found) return found.error();
  ReadyPlan& ready = **found;
  const auto named = [](const std::vector<NamedValue>& values, std::string_view name) -> const Value* {
    const auto at =
        std::find_if(values.begin(), values.end(), [&](const NamedValue& value) { return value.name == name; });
    return at == values.end() ? nullptr : &at->value;
  };
  std::vector<Value> inputs;
  for (const plan::Port& port : ready.plan().inputs) {
    const Value* value = named(given, port.name);
    inputs.push_back(value ? *value : Value());
  }
  auto outputs = ready.run(inputs, request, threads, deadline);
  if (!outputs) return outputs.error();
  std::vector<NamedValue> results;
  for (std::size_t i = 0; i < outputs->size(); ++i)
    results.push_back({ready.plan().outputs[i].name, std::move((*outputs)[i])});
  if (ready.rest()) {
    std::vector<NamedValue> passed;
    for (const ir::ValueInfo& input : ready.plan().rest->graph->inputs) {
      const std::string name(ready.plan().rest->graph->name_of(input.value));
      const Value* value = named(results, name);
      if (!value) value = named(given, name);
      passed.push_back({name, value ? *value : Value()});
    }
    auto more = ready.rest()->run(passed, request, threads, deadline);
    if (!more) return more.error();
    for (NamedValue& value : *more) results.push_back(std::move(value));
  }
  // Outputs in the order of the model, an output that is an input among them.
  std::vector<NamedValue> ordered;
  for (const ir::ValueInfo& output : model_->graph->outputs) {
    const std::string_view name = model_->graph->name_of(output.value);
    const Value* value = named(results, name);
    if (!value) value = named(given, name);
    ordered.push_back({std::string(name), value ? *value : Value()});
  }
  return ordered;
}

}  // namespace onnxkit::cpu
