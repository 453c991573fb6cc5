#include <algorithm>
#include <atomic>

#include "libonnxkit/cpu/kernels/grain.h"
#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

/// Points of one part of the outer axis: where its operands begin.
template <class T>
struct PointsOf {
  const T* data;
  const std::int64_t* positions;
  const T* weights;
  T* y;
};

class WeightedGatherKernel : public Kernel {
 public:
  explicit WeightedGatherKernel(const plan::Step& step)
      : data_(step.inputs[0]),
        positions_(step.inputs[1]),
        weights_(step.inputs[2]),
        y_(step.outputs[0]),
        takes_greatest_(static_cast<const plan::WeightedGatherParameters&>(*step.parameters).takes_greatest) {}

  void run(RunState& state) override {
    const std::int64_t points = y_.dims[1], work = std::max<std::int64_t>(positions_.dims[2] * y_.dims[2], 1);
    const std::int64_t grain = grain_for(work);
    std::atomic<bool> fits = true;
    state.threads->for_range(y_.dims[0] * points, grain, [&](std::int64_t first, std::int64_t last) {
      while (first < last) {
        const std::int64_t outer = first / points, point = first % points;
        const std::int64_t count = std::min(points - point, last - first);
        const bool holds = data_.type == ElementType::float64 ? gather<double>(state, outer, point, count)
                                                              : gather<float>(state, outer, point, count);
        if (!holds) fits = false;
        first += count;
      }
    });
    if (!fits) state.error = make_error("kernel", "a position to gather from is outside the data");
  }

 private:
  template <class T>
  bool gather(const RunState& state, std::int64_t outer, std::int64_t point, std::int64_t count) const {
    const PointsOf<T> of = {
        state.at<T>(data_) + outer * data_.strides[0],
        state.at<std::int64_t>(positions_) + outer * positions_.strides[0] + point * positions_.strides[1],
        state.at<T>(weights_) + outer * weights_.strides[0] + point * weights_.strides[1],
        state.at<T>(y_) + outer * y_.strides[0] + point * y_.strides[1]};
    return gather(of, count);
  }

  bool gather(const PointsOf<float>& of, std::int64_t count) const {
    return weighted_gather({.data = of.data,
                            .rows = data_.dims[1],
                            .row_stride = data_.strides[1],
                            .column_stride = data_.strides[2],
                            .positions = of.positions,
                            .position_stride = positions_.strides[1],
                            .position_tap_stride = positions_.strides[2],
                            .weights = of.weights,
                            .weight_stride = weights_.strides[1],
                            .weight_tap_stride = weights_.strides[2],
                            .points = count,
                            .taps = positions_.dims[2],
                            .columns = data_.dims[2],
                            .y = of.y,
                            .y_stride = y_.strides[1],
                            .y_column_stride = y_.strides[2],
                            .takes_greatest = takes_greatest_});
  }

  bool gather(const PointsOf<double>& of, std::int64_t count) const {
    for (std::int64_t point = 0; point < count; ++point) {
      const std::int64_t* const positions = of.positions + point * positions_.strides[1];
      const double* const weights = of.weights + point * weights_.strides[1];
      for (std::int64_t t = 0; t < positions_.dims[2]; ++t)
        if (positions[t * positions_.strides[2]] >= data_.dims[1]) return false;
      for (std::int64_t column = 0; column < data_.dims[2]; ++column)
        of.y[point * y_.strides[1] + column * y_.strides[2]] =
            combined(of.data + column * data_.strides[2], positions, weights);
    }
    return true;
  }

  double combined(const double* column, const std::int64_t* positions, const double* weights) const {
    double sum = 0;
    bool is_first = true;
    for (std::int64_t t = 0; t < positions_.dims[2]; ++t) {
      const std::int64_t at = positions[t * positions_.strides[2]];
      if (at < 0) continue;
      const double term = weights[t * weights_.strides[2]] * column[at * data_.strides[1]];
      if (!takes_greatest_)
        sum += term;
      else if (is_first || sum < term)
        sum = term;
      is_first = false;
    }
    return sum;
  }

  View data_, positions_, weights_, y_;
  bool takes_greatest_;
};

std::optional<std::string> refuse_weighted_gather(const plan::Plan&, const plan::Step& step) {
  const ElementType type = step.inputs[0].type;
  if (type != ElementType::float32 && type != ElementType::float64) return "rows that are neither float32 nor float64";
  if (step.inputs[2].type != type || step.outputs[0].type != type) return "operands of several types";
  return std::nullopt;
}

Result<std::unique_ptr<Kernel>> make_weighted_gather(const plan::Step& step, Preparation&) {
  return std::unique_ptr<Kernel>(std::make_unique<WeightedGatherKernel>(step));
}

}  // namespace

void register_weighted_gather(KernelRegistry& registry);
void register_weighted_gather(KernelRegistry& registry) {
  registry.add(plan::weighted_gather_step, make_weighted_gather, refuse_weighted_gather);
}

}  // namespace onnxkit::cpu
