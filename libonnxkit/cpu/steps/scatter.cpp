#include <algorithm>
#include <cstring>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

using plan::Combination;

/// NaN stays, as in maps.
template <class T>
T combined_update(Combination combination, T old, T update) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  switch (combination) {
    case Combination::add:
      return static_cast<T>(static_cast<Wrapping>(old) + static_cast<Wrapping>(update));
    case Combination::multiply:
      return static_cast<T>(static_cast<Wrapping>(old) * static_cast<Wrapping>(update));
    case Combination::maximum:
      return update > old || update != update ? update : old;
    case Combination::minimum:
      return update < old || update != update ? update : old;
    default:
      return update;
  }
}

class ScatterKernel : public Kernel {
 public:
  ScatterKernel(const plan::Step& step, Combination combination)
      : data_(step.inputs[0]),
        positions_(step.inputs[1]),
        updates_(step.inputs[2]),
        to_(step.outputs[0]),
        combination_(combination),
        width_(storage_bits(data_.type) / 8) {}

  void run(RunState& state) override {
    const std::int64_t size = data_.dims[0], inner = data_.dims[1], count = positions_.dims[0];
    std::byte* const to = state.bases[to_.buffer] + to_.offset * width_;
    const std::byte* const updates = state.bases[updates_.buffer] + updates_.offset * width_;
    std::memcpy(to, state.bases[data_.buffer] + data_.offset * width_, static_cast<std::size_t>(size * inner * width_));
    const std::int64_t* const positions = state.at<std::int64_t>(positions_);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = positions[i] < 0 ? positions[i] + size : positions[i];
      if (at < 0 || at >= size) {
        state.error = make_error("kernel", "a position to scatter to is outside the axis");
        return;
      }
      take_in(to + at * inner * width_, updates + i * inner * width_, inner);
    }
  }

 private:
  template <class T>
  void take_in_numbers(std::byte* to, const std::byte* update, std::int64_t count) const {
    auto* old = reinterpret_cast<T*>(to);
    const auto* numbers = reinterpret_cast<const T*>(update);
    for (std::int64_t i = 0; i < count; ++i) old[i] = combined_update(combination_, old[i], numbers[i]);
  }

  void take_in(std::byte* to, const std::byte* update, std::int64_t count) const {
    if (combination_ == Combination::replace)
      std::memcpy(to, update, static_cast<std::size_t>(count * width_));
    else if (data_.type == ElementType::float32)
      take_in_numbers<float>(to, update, count);
    else if (data_.type == ElementType::float64)
      take_in_numbers<double>(to, update, count);
    else
      take_in_numbers<std::int64_t>(to, update, count);
  }

  View data_, positions_, updates_, to_;
  Combination combination_;
  std::int64_t width_;
};

Result<std::unique_ptr<Kernel>> make_scatter(const plan::Step& step, Preparation&) {
  const auto& parameters = static_cast<const plan::ScatterParameters&>(*step.parameters);
  return std::unique_ptr<Kernel>(std::make_unique<ScatterKernel>(step, parameters.combination));
}

}  // namespace

void register_scatter(KernelRegistry& registry);
void register_scatter(KernelRegistry& registry) { registry.add(plan::scatter_step, make_scatter); }

}  // namespace onnxkit::cpu
