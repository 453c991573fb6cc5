#include <algorithm>
#include <array>
#include <type_traits>

#include "libonnxkit/cpu/by_width.h"
#include "libonnxkit/cpu/kernels/grain.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

/// Columns side by side, of rows that lie `stride` apart; the first row is the one to start with.
template <class T>
struct Lines {
  const T* from;
  T* to;
  std::int64_t columns, rows, stride;
};

class CumulativeKernel : public Kernel {
 public:
  CumulativeKernel(const plan::Step& step, const plan::CumulativeParameters& parameters)
      : from_(step.inputs[0]), to_(step.outputs[0]), parameters_(parameters) {}

  void run(RunState& state) override {
    by_number(from_.type, [&]<class T>(T) { take<T>(state); });
  }

 private:
  /// Columns whose totals are kept at a time.
  static constexpr std::int64_t most_columns = 64;

  template <class T>
  void take(RunState& state) const {
    const std::int64_t outer = from_.dims[0], size = from_.dims[1], inner = from_.dims[2];
    const std::int64_t blocks = (inner + most_columns - 1) / most_columns;
    const T* const from = state.at<T>(from_);
    T* const to = state.at<T>(to_);
    const std::int64_t grain = grain_for(size * std::min(inner, most_columns));
    state.threads->for_range(outer * blocks, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t column = i % blocks * most_columns;
        const std::int64_t start = (i / blocks * size + (parameters_.is_reverse ? size - 1 : 0)) * inner + column;
        take_lines(Lines<T>{.from = from + start,
                            .to = to + start,
                            .columns = std::min(inner - column, most_columns),
                            .rows = size,
                            .stride = parameters_.is_reverse ? -inner : inner});
      }
    });
  }

  /// Totals of float32 are kept in float64, but for short sums in vectors.
  template <class T>
  void take_lines(const Lines<T>& lines) const {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
    constexpr std::int64_t short_line = 256, few_columns = 8;
    if (parameters_.is_product)
      take_with<true, Wide>(lines);
    else if (lines.rows > short_line || lines.columns < few_columns)
      take_with<false, Wide>(lines);
    else
      take_with<false, T>(lines);
  }

  template <bool is_product, class Total, class T>
  void take_with(const Lines<T>& lines) const {
    std::array<Total, most_columns> totals;
    std::fill(totals.begin(), totals.begin() + lines.columns, Total{is_product ? 1 : 0});
    for (std::int64_t row = 0; row < lines.rows; ++row) {
      const T* const from = lines.from + row * lines.stride;
      T* const to = lines.to + row * lines.stride;
      for (std::int64_t j = 0; j < lines.columns; ++j) {
        Total& total = totals[static_cast<std::size_t>(j)];
        const Total before = total;
        const auto number = static_cast<Total>(from[j]);
        total = is_product ? multiplied(total, number) : added(total, number);
        to[j] = static_cast<T>(parameters_.is_exclusive ? before : total);
      }
    }
  }

  View from_, to_;
  plan::CumulativeParameters parameters_;
};

Result<std::unique_ptr<Kernel>> make_cumulative(const plan::Step& step, Preparation&) {
  const auto& parameters = static_cast<const plan::CumulativeParameters&>(*step.parameters);
  return std::unique_ptr<Kernel>(std::make_unique<CumulativeKernel>(step, parameters));
}

}  // namespace

void register_cumulative(KernelRegistry& registry);
void register_cumulative(KernelRegistry& registry) { registry.add(plan::cumulative_step, make_cumulative); }

}  // namespace onnxkit::cpu
