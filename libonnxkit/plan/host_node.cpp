#include "libonnxkit/plan/host_node.h"

#include <algorithm>
#include <cstring>

#include "libonnxkit/plan/control_flow.h"

namespace onnxkit::plan {

Result<HostNode> HostNode::make(const Plan& plan, const Step& step, exec::Backend& host,
                                const exec::LoadOptions& options) {
  HostNode node;
  const auto operands_of = [&](const std::vector<View>& views) {
    std::vector<Operand> operands;
    for (const View& view : views) {
      const Buffer& buffer = plan.buffers[view.buffer];
      operands.push_back({view, buffer.home == Home::slot ? std::optional(buffer.index) : std::nullopt});
    }
    return operands;
  };
  node.inputs_ = operands_of(step.inputs);
  node.outputs_ = operands_of(step.outputs);
  // By the host steps alone: which others a backend adds must not change what random operators draw.
  const auto place = plan.steps.begin() + (&step - plan.steps.data());
  node.seed_ = static_cast<std::uint64_t>(std::ranges::count(plan.steps.begin(), place, host_step, &Step::kind));
  const auto& parameters = static_cast<const HostParameters&>(*step.parameters);
  for (const ir::ValueInfo& input : parameters.model->graph->inputs)
    node.names_.emplace_back(parameters.model->graph->name_of(input.value));
  node.control_ = parameters.control;
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

Result<void> HostNode::run(std::byte* const* bases, Value* slots, const exec::RunRequest& request) {
  exec::RunRequest inner;
  inner.seed = request.seed + seed_;
  inner.is_measured = false;
  inner.limits = request.limits;
  inner.stop = request.stop;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Value value;
    if (inputs_[i].slot) {
      value = slots[*inputs_[i].slot];
    } else {
      const View& view = inputs_[i].view;
      auto tensor = Tensor::view(view.type, view.dims, bytes_of(bases, view), nullptr);
      if (!tensor) return tensor.error();
      value = *std::move(tensor);
    }
    inner.inputs.push_back({names_[i], std::move(value)});
  }
  std::vector<NamedValue> results;
  if (control_) {
    auto made = control_->run(inner);
    if (!made) return made.error();
    results = *std::move(made);
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
