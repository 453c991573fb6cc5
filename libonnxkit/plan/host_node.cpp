#include "libonnxkit/plan/host_node.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "libonnxkit/plan/control_flow.h"

namespace onnxkit::plan {

HostSteps::HostSteps(const Plan& plan) : plan_(plan), last_reads_(plan.slots) {
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    const Step& step = plan.steps[at];
    numbers_.push_back(number);
    number += step.kind == host_step ? 1 : 0;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const Buffer& buffer = plan.buffers[step.inputs[i].buffer];
      if (buffer.home == Home::slot) last_reads_[buffer.index] = Read{at, i};
    }
  }
  for (const Port& port : plan.outputs) {
    const Buffer& buffer = plan.buffers[port.buffer];
    if (buffer.home == Home::slot) last_reads_[buffer.index].reset();
  }
}

std::uint64_t HostSteps::number_of(const Step& step) const { return numbers_[index_of(step)]; }

bool HostSteps::is_last_read(const Step& step, std::size_t input) const {
  const Buffer& buffer = plan_.buffers[step.inputs[input].buffer];
  if (buffer.home != Home::slot) return false;
  const auto& last = last_reads_[buffer.index];
  return last && last->step == index_of(step) && last->input == input;
}

Result<HostNode> HostNode::make(const HostSteps& steps, const Step& step, exec::Backend& host,
                                const exec::LoadOptions& options) {
  HostNode node;
  const auto operands_of = [&](const std::vector<View>& views) {
    std::vector<Operand> operands;
    for (const View& view : views) {
      const Buffer& buffer = steps.plan().buffers[view.buffer];
      operands.push_back({view, buffer.home == Home::slot ? std::optional(buffer.index) : std::nullopt});
    }
    return operands;
  };
  node.inputs_ = operands_of(step.inputs);
  node.outputs_ = operands_of(step.outputs);
  for (std::size_t i = 0; i < node.inputs_.size(); ++i) node.inputs_[i].is_last_read = steps.is_last_read(step, i);
  // By the host steps alone: which others a backend adds must not change what random operators draw.
  node.seed_ = steps.number_of(step);
  const auto& parameters = static_cast<const HostParameters&>(*step.parameters);
  for (const ir::ValueInfo& input : parameters.model->graph->inputs)
    node.names_.emplace_back(parameters.model->graph->name_of(input.value));
  node.control_ = parameters.control;
  node.sequence_ = SequenceNode::of(parameters.model);
  if (node.control_) return node;
  exec::LoadOptions load = host_load(options);
  load.kept_bytes = exec::usual_kept_bytes;
  auto session = host.load({.model = parameters.model}, load);
  if (!session) return session.error();
  node.session_ = *std::move(session);
  return node;
}

std::span<std::byte> HostNode::bytes_of(std::byte* const* bases, const View& view) {
  const std::size_t width = static_cast<std::size_t>(storage_bits(view.type)) / 8;
  return {bases[view.buffer] + static_cast<std::size_t>(view.offset) * width,
          static_cast<std::size_t>(view.size()) * width};
}

Result<Value> HostNode::value_of(std::byte* const* bases, const Value* slots, const Operand& operand, bool owns) {
  if (operand.slot) return slots[*operand.slot];
  const auto bytes = bytes_of(bases, operand.view);
  auto tensor = owns ? Tensor::from_bytes(operand.view.type, operand.view.dims, {bytes.begin(), bytes.end()})
                     : Tensor::view(operand.view.type, operand.view.dims, bytes, nullptr);
  if (!tensor) return tensor.error();
  return Value(*std::move(tensor));
}

namespace {

std::uint64_t bytes_held_by(const Value& value) {
  std::uint64_t bytes = value.is_tensor() ? value.tensor.bytes().size() : 0;
  for (const Value& item : value.items) bytes += bytes_held_by(item);
  return bytes;
}

std::uint64_t bytes_held_by(std::span<Value* const> values) {
  std::uint64_t bytes = 0;
  for (const Value* value : values) bytes += bytes_held_by(*value);
  return bytes;
}

}  // namespace

Result<bool> HostNode::run_sequence(std::byte* const* bases, Value* slots, std::uint64_t limit) const {
  std::vector<Value> held(inputs_.size());
  std::vector<Value*> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Operand& operand = inputs_[i];
    if (operand.slot && (operand.is_last_read || !sequence_->takes_inputs())) {
      inputs.push_back(&slots[*operand.slot]);
      continue;
    }
    auto value = value_of(bases, slots, operand, true);
    if (!value) return value.error();
    held[i] = *std::move(value);
    inputs.push_back(&held[i]);
  }
  if (limit != 0 && sequence_->takes_inputs() && bytes_held_by(inputs) > limit) return false;
  auto result = sequence_->run(inputs);
  const Operand& output = outputs_.front();
  // In plans of doubles the reference widens elements that came as they are declared.
  const auto is_alike = [&] { return result->is_tensor() && result->tensor.type() == output.view.type; };
  if (!result || (!output.slot && !is_alike())) return false;
  if (auto taken = take_output(bases, slots, output, *result); !taken) return taken.error();
  return true;
}

Result<void> HostNode::run(std::byte* const* bases, Value* slots, const PlannedRun& run) {
  auto done = run_node(bases, slots, run);
  for (const Operand& operand : inputs_)
    if (operand.slot && operand.is_last_read) slots[*operand.slot] = Value();
  return done;
}

Result<void> HostNode::run_node(std::byte* const* bases, Value* slots, const PlannedRun& run) {
  const exec::RunRequest& request = run.request;
  if (sequence_ && outputs_.size() == 1) {
    const auto is_done = run_sequence(bases, slots, request.limits.memory);
    if (!is_done) return is_done.error();
    if (*is_done) return {};
  }
  exec::RunRequest inner;
  inner.seed = request.seed + seed_;
  inner.is_measured = false;
  inner.limits = run.remaining_limits();
  inner.stop = request.stop;
  if (run.times)
    inner.on_node = [&run](const exec::NodeEvent& event) {
      if (event.depth > 0) exec::add_node(*run.times, event, run.depth);
    };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    auto value = value_of(bases, slots, inputs_[i], false);
    if (!value) return value.error();
    inner.inputs.push_back({names_[i], *std::move(value)});
  }
  std::vector<NamedValue> results;
  if (control_) {
    auto made = control_->run(inner, run);
    if (!made) return made.error();
    results = *std::move(made);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].slot) continue;  // else copied anyway
      if (auto lasting = make_lasting(bases, results[i].value); !lasting) return lasting.error();
    }
  } else {
    auto answer = session_->run(inner);
    if (!answer) return answer.error();
    results = std::move(answer->outputs);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (auto taken = take_output(bases, slots, outputs_[i], results[i].value); !taken) return taken.error();
  }
  return {};
}

bool HostNode::views_operand(std::byte* const* bases, const Tensor& tensor) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Operand& operand) {
    if (operand.slot) return false;
    const auto bytes = bytes_of(bases, operand.view);
    return std::less_equal<>()(bytes.data(), tensor.bytes().data()) &&
           std::less<>()(tensor.bytes().data(), bytes.data() + bytes.size());
  });
}

Result<void> HostNode::make_lasting(std::byte* const* bases, Value& value) const {
  if (value.is_tensor() && views_operand(bases, value.tensor)) {
    const auto bytes = value.tensor.bytes();
    auto copied = Tensor::from_bytes(value.tensor.type(), value.tensor.dims(), {bytes.begin(), bytes.end()});
    if (!copied) return copied.error();
    value.tensor = *std::move(copied);
  }
  for (Value& item : value.items)
    if (auto made = make_lasting(bases, item); !made) return made;
  return {};
}

Result<void> HostNode::take_output(std::byte* const* bases, Value* slots, const Operand& output, Value& value) const {
  if (output.slot) {
    slots[*output.slot] = std::move(value);
    return {};
  }
  const auto room = bytes_of(bases, output.view);
  if (!value.is_tensor() || value.tensor.type() != output.view.type || value.tensor.bytes().size() != room.size())
    return make_error("kernel", "the result has another size than inference found");
  if (!room.empty()) std::memcpy(room.data(), value.tensor.bytes().data(), room.size());
  return {};
}

}  // namespace onnxkit::plan
