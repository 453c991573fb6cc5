#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

Rows rows_of(const View& from, const View& to, RunState& state) {
  const std::int64_t columns = from.dims.back();
  return {.from = state.at<float>(from),
          .from_stride = columns,
          .to = state.at<float>(to),
          .to_stride = columns,
          .rows = columns == 0 ? 0 : from.size() / columns,
          .columns = columns};
}

class SoftmaxKernel : public Kernel {
 public:
  SoftmaxKernel(const plan::Step& step, bool is_log) : from_(step.inputs[0]), to_(step.outputs[0]), is_log_(is_log) {}
  void run(RunState& state) override {
    const Rows rows = rows_of(from_, to_, state);
    if (is_log_)
      log_softmax_rows(*state.threads, rows);
    else
      softmax_rows(*state.threads, rows);
  }

 private:
  View from_, to_;
  bool is_log_;
};

class NormalizeKernel : public Kernel {
 public:
  NormalizeKernel(const plan::Step& step, const plan::NormalizeParameters& parameters)
      : inputs_(step.inputs),
        to_(step.outputs[0]),
        centers_(parameters.centers),
        epsilon_(static_cast<float>(parameters.epsilon)) {}
  void run(RunState& state) override {
    Normalization normalization{.epsilon = epsilon_, .centers = centers_};
    if (inputs_.size() > 1) normalization.scale = state.at<float>(inputs_[1]);
    if (inputs_.size() > 2) normalization.bias = state.at<float>(inputs_[2]);
    normalize_rows(*state.threads, rows_of(inputs_[0], to_, state), normalization);
  }

 private:
  std::vector<View> inputs_;
  View to_;
  bool centers_;
  float epsilon_;
};

Result<std::unique_ptr<Kernel>> make_softmax(const plan::Step& step, Preparation&) {
  const auto& parameters = static_cast<const plan::SoftmaxParameters&>(*step.parameters);
  return std::unique_ptr<Kernel>(std::make_unique<SoftmaxKernel>(step, parameters.is_log));
}

Result<std::unique_ptr<Kernel>> make_normalize(const plan::Step& step, Preparation&) {
  const auto& parameters = static_cast<const plan::NormalizeParameters&>(*step.parameters);
  return std::unique_ptr<Kernel>(std::make_unique<NormalizeKernel>(step, parameters));
}

}  // namespace

void register_rows(KernelRegistry& registry);
void register_rows(KernelRegistry& registry) {
  registry.add(plan::softmax_step, make_softmax);
  registry.add(plan::normalize_step, make_normalize);
}

}  // namespace onnxkit::cpu
