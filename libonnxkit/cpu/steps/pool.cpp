#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"
#include "libonnxkit/cpu/window.h"

namespace onnxkit::cpu {
namespace {

class PoolKernel : public Kernel {
 public:
  PoolKernel(const plan::Step& step, const Pooling& pooling)
      : from_(step.inputs[0]), to_(step.outputs[0]), pooling_(pooling) {}
  void run(RunState& state) override { pool(*state.threads, pooling_, state.at<float>(from_), state.at<float>(to_)); }

 private:
  View from_, to_;
  Pooling pooling_;
};

Result<std::unique_ptr<Kernel>> make_pool(const plan::Step& step, Preparation&) {
  const auto& p = static_cast<const plan::PoolParameters&>(*step.parameters);
  Pooling pooling{.window = window_of(step.inputs[0], step.outputs[0], p.kernel, p.strides, p.dilations, p.pads),
                  .kind = p.is_maximum ? Pooling::Kind::max : Pooling::Kind::average,
                  .count_include_pad = p.counts_padding,
                  .pad_bottom = p.pads[2],
                  .pad_right = p.pads[3]};
  return std::unique_ptr<Kernel>(std::make_unique<PoolKernel>(step, pooling));
}

}  // namespace

void register_pool(KernelRegistry& registry);
void register_pool(KernelRegistry& registry) { registry.add(plan::pool_step, make_pool); }

}  // namespace onnxkit::cpu
