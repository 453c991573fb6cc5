#include <cstring>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

class GatherKernel : public Kernel {
 public:
  explicit GatherKernel(const plan::Step& step)
      : data_(step.inputs[0]), positions_(step.inputs[1]), to_(step.outputs[0]) {
    width_ = storage_bits(data_.type) / 8;
  }

  void run(RunState& state) override {
    const std::int64_t outer = data_.dims[0], size = data_.dims[1], inner = data_.dims[2], count = positions_.dims[0];
    const std::byte* const from = state.bases[data_.buffer] + data_.offset * width_;
    std::byte* to = state.bases[to_.buffer] + to_.offset * width_;
    const std::size_t bytes = static_cast<std::size_t>(inner * width_);
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < count; ++i, to += bytes) {
        std::int64_t at = positions_.type == ElementType::int64 ? state.at<std::int64_t>(positions_)[i]
                                                                : state.at<std::int32_t>(positions_)[i];
        if (at < 0) at += size;
        if (at < 0 || at >= size) {
          state.error = make_error("kernel", "Gather: a position is outside the axis");
          return;
        }
        std::memcpy(to, from + (o * size + at) * inner * width_, bytes);
      }
    }
  }

 private:
  View data_, positions_, to_;
  std::int64_t width_;
};

Result<std::unique_ptr<Kernel>> make_gather(const plan::Step& step, Preparation&) {
  return std::unique_ptr<Kernel>(std::make_unique<GatherKernel>(step));
}

}  // namespace

void register_gather(KernelRegistry& registry);
void register_gather(KernelRegistry& registry) { registry.add(plan::gather_step, make_gather); }

}  // namespace onnxkit::cpu
