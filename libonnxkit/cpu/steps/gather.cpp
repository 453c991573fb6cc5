#include <algorithm>
#include <cstring>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/by_width.h"
#include "libonnxkit/cpu/kernels/grain.h"
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

/// Places that follow one another.
struct Run {
  std::int64_t to, from, count;
};

std::vector<Run> runs_of(const std::vector<std::int64_t>& places) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!runs.empty() && places[i] == runs.back().from + runs.back().count)
      ++runs.back().count;
    else
      runs.push_back({static_cast<std::int64_t>(i), places[i], 1});
  }
  return runs;
}

/// How often each place is taken in a row, if that and what follows are the same for all.
std::int64_t repeats_of(const std::vector<std::int64_t>& places) {
  std::size_t times = 1;
  while (times < places.size() && places[times] == places[0]) ++times;
  if (times == 1 || places.size() % times != 0) return 1;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] != places[0] + static_cast<std::int64_t>(i / times)) return 1;
  return static_cast<std::int64_t>(times);
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
    if (outer >= fewest_for_runs && take_alike(state, places)) return;
    const std::byte* const from = state.bases[data_.buffer] + data_.offset * width_;
    std::byte* const to = state.bases[to_.buffer] + to_.offset * width_;
    const std::int64_t bytes = inner * width_, grain = grain_for(inner);
    state.threads->for_range(outer * count, grain, [&](std::int64_t first, std::int64_t last) {
      while (first < last) {
        const std::int64_t o = first / count, i = first % count, rows = std::min(count - i, last - first);
        take_rows(to + first * bytes, from + o * size * bytes, places.data() + i, rows, bytes);
        first += rows;
      }
    });
  }

 private:
  /// So many times the same places: it is worth while to look how they lie.
  static constexpr std::int64_t fewest_for_runs = 4;

  /// The same places of all parts, where those follow one another in long runs or each is repeated. False elsewhere.
  bool take_alike(RunState& state, const std::vector<std::int64_t>& places) const {
    const std::int64_t outer = data_.dims[0], size = data_.dims[1], bytes = data_.dims[2] * width_;
    const auto count = static_cast<std::int64_t>(places.size());
    const std::byte* const from = state.bases[data_.buffer] + data_.offset * width_;
    std::byte* const to = state.bases[to_.buffer] + to_.offset * width_;
    const std::int64_t grain = grain_for(data_.dims[2] * count);
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(from) % sizeof(float) == 0;
    if (bytes == sizeof(float) && is_aligned && repeats_of(places) == 2) {
      state.threads->for_range(outer, grain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t o = first; o < last; ++o)
          repeat_numbers<2>(reinterpret_cast<std::uint32_t*>(to) + o * count,
                            reinterpret_cast<const std::uint32_t*>(from) + o * size + places[0], count / 2);
      });
      return true;
    }
    const std::vector<Run> runs = runs_of(places);
    constexpr std::int64_t long_run = 8;
    if (static_cast<std::int64_t>(runs.size()) * long_run > count) return false;
    state.threads->for_range(outer, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t o = first; o < last; ++o) {
        for (const Run& run : runs) {
          std::byte* const run_to = to + (o * count + run.to) * bytes;
          const std::byte* const run_from = from + (o * size + run.from) * bytes;
          if (run.count * bytes == sizeof(float))
            std::memcpy(run_to, run_from, sizeof(float));
          else
            std::memcpy(run_to, run_from, static_cast<std::size_t>(run.count * bytes));
        }
      }
    });
    return true;
  }

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
