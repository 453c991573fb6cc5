#include <cstring>

#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

class HostKernel : public Kernel {
 public:
  HostKernel(const plan::Step& step, const plan::Plan& plan, std::unique_ptr<exec::Session> session, std::uint64_t seed)
      : inputs_(step.inputs), outputs_(step.outputs), session_(std::move(session)), seed_(seed) {
    for (const View& view : inputs_) input_slots_.push_back(slot_of(plan, view));
    for (const View& view : outputs_) output_slots_.push_back(slot_of(plan, view));
  }

  void run(RunState& state) override {
    exec::RunRequest request;
    request.seed = state.request->seed + seed_;
    request.limits = state.request->limits;
    request.stop = state.request->stop;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Value value;
      if (input_slots_[i]) {
        value = state.slots[*input_slots_[i]];
      } else {
        auto tensor = Tensor::view(inputs_[i].type, inputs_[i].dims, bytes_of(state, inputs_[i]), nullptr);
        if (!tensor) return fail(state, tensor.error());
        value = *std::move(tensor);
      }
      request.inputs.push_back({session_->inputs()[i].name, std::move(value)});
    }
    auto answer = session_->run(request);
    if (!answer) return fail(state, answer.error());
    for (std::size_t i = 0; i < outputs_.size(); ++i) take_output(state, i, answer->outputs[i].value);
  }

 private:
  static std::optional<std::size_t> slot_of(const plan::Plan& plan, const View& view) {
    const plan::Buffer& buffer = plan.buffers[view.buffer];
    return buffer.home == plan::Home::slot ? std::optional(buffer.index) : std::nullopt;
  }
  static void fail(RunState& state, const Error& error) { state.error = error; }

  static std::span<std::byte> bytes_of(const RunState& state, const View& view) {
    const std::size_t width = static_cast<std::size_t>(storage_bits(view.type)) / 8;
    return {state.bases[view.buffer] + static_cast<std::size_t>(view.offset) * width,
            static_cast<std::size_t>(view.size()) * width};
  }

  void take_output(RunState& state, std::size_t i, Value& value) const {
    if (output_slots_[i]) {
      state.slots[*output_slots_[i]] = std::move(value);
      return;
    }
    const auto room = bytes_of(state, outputs_[i]);
    if (!value.is_tensor() || value.tensor.type() != outputs_[i].type || value.tensor.bytes().size() != room.size())
      return fail(state, make_error("kernel", "the result has another size than inference found"));
    if (!room.empty()) std::memcpy(room.data(), value.tensor.bytes().data(), room.size());
  }

  std::vector<View> inputs_, outputs_;
  std::vector<std::optional<std::size_t>> input_slots_, output_slots_;
  std::unique_ptr<exec::Session> session_;
  std::uint64_t seed_;
};

Result<std::unique_ptr<Kernel>> make_host(const plan::Step& step, Preparation& preparation) {
  const auto& parameters = static_cast<const plan::HostParameters&>(*step.parameters);
  exec::LoadOptions options;
  options.context = preparation.options.context;
  options.table = preparation.options.table;
  options.threads = preparation.options.threads;
  options.allow_outside_data = preparation.options.allow_outside_data;
  options.kept_bytes = exec::usual_kept_bytes;
  auto session = preparation.host.load({.model = parameters.model}, options);
  if (!session) return session.error();
  const auto number = static_cast<std::uint64_t>(&step - preparation.plan.steps.data());
  return std::unique_ptr<Kernel>(std::make_unique<HostKernel>(step, preparation.plan, *std::move(session), number));
}

}  // namespace

void register_host(KernelRegistry& registry);
void register_host(KernelRegistry& registry) { registry.add(plan::host_step, make_host); }

}  // namespace onnxkit::cpu
