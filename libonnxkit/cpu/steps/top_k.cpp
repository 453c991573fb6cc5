#include <algorithm>
#include <numeric>

#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

template <class T>
bool is_below(T a, T b) {
  return a < b || (b != b && a == a);
}

class TopKKernel : public Kernel {
 public:
  TopKKernel(const plan::Step& step, bool is_largest)
      : from_(step.inputs[0]), to_(step.outputs[0]), places_(step.outputs[1]), is_largest_(is_largest) {}

  void run(RunState& state) override {
    if (from_.type == ElementType::float32)
      select<float>(state);
    else if (from_.type == ElementType::float64)
      select<double>(state);
    else
      select<std::int64_t>(state);
  }

 private:
  template <class T>
  void select(RunState& state) const {
    const std::int64_t n = from_.dims.back(), k = to_.dims.back(), rows = from_.size() / n;
    const T* const from = state.at<T>(from_);
    T* const to = state.at<T>(to_);
    auto* const places = state.at<std::int64_t>(places_);
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / n);
    state.threads->for_range(rows, grain, [&](std::int64_t first, std::int64_t last) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(n));
      for (std::int64_t row = first; row < last; ++row) {
        const T* const numbers = from + row * n;
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
          const T x = numbers[is_largest_ ? b : a], y = numbers[is_largest_ ? a : b];
          return is_below(x, y) || (!is_below(y, x) && a < b);
        });
        for (std::int64_t i = 0; i < k; ++i) {
          places[row * k + i] = order[static_cast<std::size_t>(i)];
          to[row * k + i] = numbers[order[static_cast<std::size_t>(i)]];
        }
      }
    });
  }

  View from_, to_, places_;
  bool is_largest_;
};

Result<std::unique_ptr<Kernel>> make_top_k(const plan::Step& step, Preparation&) {
  const auto& parameters = static_cast<const plan::TopKParameters&>(*step.parameters);
  return std::unique_ptr<Kernel>(std::make_unique<TopKKernel>(step, parameters.is_largest));
}

}  // namespace

void register_top_k(KernelRegistry& registry);
void register_top_k(KernelRegistry& registry) { registry.add(plan::top_k_step, make_top_k); }

}  // namespace onnxkit::cpu
