#include <algorithm>
#include <cstring>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

/// Of a size that the compiler knows: constants of a file may lie at any address.
template <std::size_t bytes>
void take_numbers(std::byte* to, const std::byte* from, const std::int64_t* places, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i)
    std::memcpy(to + i * static_cast<std::int64_t>(bytes), from + places[i] * static_cast<std::int64_t>(bytes), bytes);
}

/// Rows of so many bytes, from these places.
void take_rows(std::byte* to, const std::byte* from, const std::int64_t* places, std::int64_t rows,
               std::int64_t bytes) {
  if (bytes == 4) return take_numbers<4>(to, from, places, rows);
  if (bytes == 2) return take_numbers<2>(to, from, places, rows);
  if (bytes == 8) return take_numbers<8>(to, from, places, rows);
  if (bytes == 1) return take_numbers<1>(to, from, places, rows);
  for (std::int64_t i = 0; i < rows; ++i)
    std::memcpy(to + i * bytes, from + places[i] * bytes, static_cast<std::size_t>(bytes));
}

class GatherKernel : public Kernel {
 public:
  explicit GatherKernel(const plan::Step& step)
      : data_(step.inputs[0]), positions_(step.inputs[1]), to_(step.outputs[0]) {
    width_ = storage_bits(data_.type) / 8;
  }

  void run(RunState& state) override {
    const std::int64_t outer = data_.dims[0], size = data_.dims[1], inner = data_.dims[2], count = positions_.dims[0];
    std::vector<std::int64_t> places(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t at = positions_.type == ElementType::int64 ? state.at<std::int64_t>(positions_)[i]
                                                              : state.at<std::int32_t>(positions_)[i];
      if (at < 0) at += size;
      if (at < 0 || at >= size) {
        state.error = make_error("kernel", "a position to gather from is outside the axis");
        return;
      }
      places[static_cast<std::size_t>(i)] = at;
    }
    const std::byte* const from = state.bases[data_.buffer] + data_.offset * width_;
    std::byte* const to = state.bases[to_.buffer] + to_.offset * width_;
    const std::int64_t bytes = inner * width_,
                       grain = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(bytes, 1));
    state.threads->for_range(outer * count, grain, [&](std::int64_t first, std::int64_t last) {
      while (first < last) {
        const std::int64_t o = first / count, i = first % count, rows = std::min(count - i, last - first);
        take_rows(to + first * bytes, from + o * size * bytes, places.data() + i, rows, bytes);
        first += rows;
      }
    });
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
