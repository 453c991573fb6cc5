#include <cstring>
#include <span>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/by_width.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

using plan::Combination;

/// NaN stays, as in maps.
template <Combination combination, class T>
T combined_update(T old, T update) {
  if constexpr (combination == Combination::replace) return update;
  if constexpr (combination == Combination::add) return added(old, update);
  if constexpr (combination == Combination::multiply) return multiplied(old, update);
  // A comparison for each choice, no jump, so that GCC makes vectors of them.
  const T kept = update == update ? old : update;
  if constexpr (combination == Combination::maximum) return update > old ? update : kept;
  return update < old ? update : kept;
}

std::int64_t counted(std::int64_t position, std::int64_t size) { return position < 0 ? position + size : position; }

/// Rows of `inner` numbers, one after the other: update i comes to row positions[i] of `size`.
template <Combination combination, class T>
void take_in(T* to, const T* updates, std::span<const std::int64_t> positions, std::int64_t size, std::int64_t inner) {
  for (const std::int64_t position : positions) {
    T* const row = to + counted(position, size) * inner;
    for (std::int64_t j = 0; j < inner; ++j) row[j] = combined_update<combination>(row[j], updates[j]);
    updates += inner;
  }
}

class ScatterKernel : public Kernel {
 public:
  ScatterKernel(const plan::Step& step, Combination combination)
      : data_(step.inputs[0]),
        positions_(step.inputs[1]),
        updates_(step.inputs[2]),
        to_(step.outputs[0]),
        combination_(combination) {}

  void run(RunState& state) override {
    for (const std::int64_t position : positions(state)) {
      if (const std::int64_t at = counted(position, data_.dims[0]); at >= 0 && at < data_.dims[0]) continue;
      state.error = make_error("kernel", "a position to scatter to is outside the axis");
      return;
    }
    if (combination_ == Combination::replace)
      by_width(storage_bits(data_.type) / 8, [&]<class T>(T) { scatter<Combination::replace, T>(state); });
    else
      by_number(data_.type, [&]<class T>(T) { combine<T>(state); });
  }

 private:
  std::span<const std::int64_t> positions(const RunState& state) const {
    return {state.at<std::int64_t>(positions_), static_cast<std::size_t>(positions_.dims[0])};
  }

  template <class T>
  void combine(RunState& state) const {
    if (combination_ == Combination::add) return scatter<Combination::add, T>(state);
    if (combination_ == Combination::multiply) return scatter<Combination::multiply, T>(state);
    if (combination_ == Combination::maximum) return scatter<Combination::maximum, T>(state);
    scatter<Combination::minimum, T>(state);
  }

  template <Combination combination, class T>
  void scatter(RunState& state) const {
    T* const to = state.at<T>(to_);
    std::memcpy(to, state.at<T>(data_), static_cast<std::size_t>(data_.size()) * sizeof(T));
    take_in<combination>(to, state.at<T>(updates_), positions(state), data_.dims[0], data_.dims[1]);
  }

  View data_, positions_, updates_, to_;
  Combination combination_;
};

Result<std::unique_ptr<Kernel>> make_scatter(const plan::Step& step, Preparation&) {
  const auto& parameters = static_cast<const plan::ScatterParameters&>(*step.parameters);
  return std::unique_ptr<Kernel>(std::make_unique<ScatterKernel>(step, parameters.combination));
}

}  // namespace

void register_scatter(KernelRegistry& registry);
void register_scatter(KernelRegistry& registry) { registry.add(plan::scatter_step, make_scatter); }

}  // namespace onnxkit::cpu
