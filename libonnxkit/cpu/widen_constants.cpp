#include "libonnxkit/cpu/widen_constants.h"

#include <unordered_map>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/precision.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::cpu {
namespace {

/// The first input that an expression reads; behind the last for other kinds.
std::size_t first_read(const plan::Step& step) {
  if (step.kind == plan::map_step) return 0;
  return step.kind == plan::product_step || step.kind == plan::convolution_step ? 2 : step.inputs.size();
}

class Widening {
 public:
  explicit Widening(plan::Plan& plan) : plan_(plan) {}

  void widen(plan::View& view) {
    const plan::Buffer buffer = plan_.buffers[view.buffer];
    if (buffer.home != plan::Home::constant || !is_16_bit_real(view.type)) return;
    const auto known = wide_.find(view.buffer);
    const std::uint32_t wide = known != wide_.end() ? known->second : add(view.buffer, plan_.constants[buffer.index]);
    if (wide == view.buffer) return;
    view.buffer = wide;
    view.type = ElementType::float32;
  }

 private:
  /// Its own buffer for what is too large.
  std::uint32_t add(std::uint32_t buffer, const Tensor& content) {
    constexpr std::int64_t most_elements = 1 << 16;
    wide_[buffer] = buffer;
    if (content.size() > most_elements) return buffer;
    auto changed = plan::in_type(content, ElementType::float32);
    if (!changed) return buffer;
    plan_.buffers.push_back({.home = plan::Home::constant,
                             .type = ElementType::float32,
                             .bytes = changed->bytes().size(),
                             .offset = 0,
                             .index = plan_.constants.size()});
    plan_.constants.push_back(*std::move(changed));
    return wide_[buffer] = static_cast<std::uint32_t>(plan_.buffers.size() - 1);
  }

  plan::Plan& plan_;
  std::unordered_map<std::uint32_t, std::uint32_t> wide_;  ///< by buffer
};

}  // namespace

void widen_constants(plan::Plan& plan) {
  Widening widening(plan);
  for (plan::Step& step : plan.steps) {
    for (std::size_t i = first_read(step); i < step.inputs.size(); ++i) widening.widen(step.inputs[i]);
  }
}

}  // namespace onnxkit::cpu
