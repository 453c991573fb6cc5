#include <algorithm>
#include <vector>

#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

const plan::LinearAttentionParameters& linear_parameters(const plan::Step& step) {
  return static_cast<const plan::LinearAttentionParameters&>(*step.parameters);
}

/// One state after the other, divided among threads.
class LinearAttentionKernel : public Kernel {
 public:
  explicit LinearAttentionKernel(const plan::Step& step)
      : q_(step.inputs[0]),
        k_(step.inputs[1]),
        v_(step.inputs[2]),
        first_(step.inputs[3]),
        y_(step.outputs[0]),
        last_(step.outputs[1]) {
    const auto& parameters = linear_parameters(step);
    attention_ = {.time = v_.dims[2],
                  .keys = q_.dims[3],
                  .values = v_.dims[3],
                  .results = y_.dims[1] / v_.dims[1],
                  .q_stride = q_.strides[2],
                  .k_stride = k_.strides[2],
                  .v_stride = v_.strides[2],
                  .y_stride = y_.strides[2],
                  .scale = static_cast<float>(parameters.scale)};
    std::size_t next = 4;
    if (parameters.has_decay) {
      decay_ = step.inputs[next++];
      attention_.decay_stride = decay_->strides[2];
      attention_.decay_key_stride = decay_->dims[3] == 1 ? 0 : decay_->strides[3];
    }
    if (parameters.has_rate) {
      rate_ = step.inputs[next];
      attention_.rate_stride = rate_->strides[2];
    }
  }

  void run(RunState& state) override {
    const std::int64_t heads = v_.dims[1];
    state.threads->for_range(v_.dims[0] * heads, 1, [&](std::int64_t first, std::int64_t last) {
      std::vector<float> factors(static_cast<std::size_t>(attention_.keys));
      std::vector<const float*> q(static_cast<std::size_t>(attention_.results));
      std::vector<float*> y(q.size());
      for (std::int64_t at = first; at < last; ++at) {
        const std::int64_t batch = at / heads, head = at % heads;
        LinearAttention one = attention_;
        for (std::size_t r = 0; r < q.size(); ++r) {
          const std::int64_t result = head * one.results + static_cast<std::int64_t>(r);
          q[r] = place<const float>(state, q_, batch, result * q_.dims[1] / y_.dims[1]);
          y[r] = place<float>(state, y_, batch, result);
        }
        one.q = q.data(), one.y = y.data();
        one.k = place<const float>(state, k_, batch, head * k_.dims[1] / heads);
        one.v = place<const float>(state, v_, batch, head);
        if (decay_) one.decay = place<const float>(state, *decay_, batch, head);
        if (rate_) one.rate = place<const float>(state, *rate_, batch, rate_->dims[1] == 1 ? 0 : head);
        one.state = place<float>(state, last_, batch, head);
        one.factors = factors.data();
        const float* const from = place<const float>(state, first_, batch, head);
        if (from != one.state) std::copy_n(from, one.keys * one.values, one.state);
        linear_attend(one);
      }
    });
  }

 private:
  template <class T>
  static T* place(const RunState& state, const View& view, std::int64_t batch, std::int64_t head) {
    return state.at<std::remove_const_t<T>>(view) + batch * view.strides[0] + head * view.strides[1];
  }

  View q_, k_, v_, first_, y_, last_;
  std::optional<View> decay_, rate_;
  LinearAttention attention_;
};

std::optional<std::string> refuse_linear_attention(const plan::Plan&, const plan::Step& step) {
  const auto is_float = [](const View& view) { return view.type == ElementType::float32; };
  if (!std::all_of(step.inputs.begin(), step.inputs.end(), is_float)) return "operands that are not float32";
  return std::nullopt;
}

Result<std::unique_ptr<Kernel>> make_linear_attention(const plan::Step& step, Preparation&) {
  return std::unique_ptr<Kernel>(std::make_unique<LinearAttentionKernel>(step));
}

}  // namespace

void register_linear_attention(KernelRegistry& registry);
void register_linear_attention(KernelRegistry& registry) {
  registry.add(plan::linear_attention_step, make_linear_attention, refuse_linear_attention);
}

}  // namespace onnxkit::cpu
