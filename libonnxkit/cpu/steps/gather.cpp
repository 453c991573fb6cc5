#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/by_width.h"
#include "libonnxkit/cpu/kernels/grain.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

/// Rows from these positions, of which negative ones count from the end. False where one is outside the axis. `bytes`: of a row, 0 where the compiler
/// does not know it; constants of a file may lie at any address.
template <std::int64_t bytes, class Position>
bool take_rows(std::byte* to, const std::byte* from, std::int64_t size, std::span<const Position> positions,
               std::int64_t row_bytes) {
  const std::int64_t width = bytes == 0 ? row_bytes : bytes;
  for (const Position position : positions) {
    const std::int64_t at = position < 0 ? position + size : position;
    if (at < 0 || at >= size) return false;
    std::memcpy(to, from + at * width, static_cast<std::size_t>(width));
    to += width;
  }
  return true;
}

template <class Position>
bool take_rows(std::byte* to, const std::byte* from, std::int64_t size, std::span<const Position> positions,
               std::int64_t row_bytes) {
  switch (row_bytes) {
    case 1:
      return take_rows<1>(to, from, size, positions, row_bytes);
    case 2:
      return take_rows<2>(to, from, size, positions, row_bytes);
    case 4:
      return take_rows<4>(to, from, size, positions, row_bytes);
    case 8:
      return take_rows<8>(to, from, size, positions, row_bytes);
    default:
      return take_rows<0>(to, from, size, positions, row_bytes);
  }
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
    const bool is_done = positions_.type == ElementType::int64 ? take<std::int64_t>(state) : take<std::int32_t>(state);
    if (!is_done) state.error = make_error("kernel", fault(state));
  }

 private:
  std::string fault(const RunState& state) const {
    const std::int64_t size = data_.dims[1];
    if (data_.size() == 1) return "an index or a length is out of range";  // lowerings test lengths by such a step
    const auto in = [&]<class Position>(const Position* positions) {
      const std::span all(positions, static_cast<std::size_t>(positions_.size()));
      const auto outside = std::ranges::find_if(all, [&](Position at) { return at < -size || at >= size; });
      return outside == all.end() ? std::int64_t{0} : static_cast<std::int64_t>(*outside);
    };
    return fmt::format("index {} is outside an axis of size {}",
                       positions_.type == ElementType::int64 ? in(state.at<std::int64_t>(positions_))
                                                             : in(state.at<std::int32_t>(positions_)),
                       size);
  }

  /// So many times the same places: it is worth while to look how they lie.
  static constexpr std::int64_t fewest_for_runs = 4;

  template <class Position>
  bool take(RunState& state) const {
    const std::int64_t outer = data_.dims[0], size = data_.dims[1], inner = data_.dims[2], count = to_.dims[1];
    const bool has_lists = positions_.rank() == 2;
    const Position* const positions = state.at<Position>(positions_);
    if (!has_lists && outer >= fewest_for_runs) {
      std::vector<std::int64_t> places(positions, positions + count);
      for (std::int64_t& place : places) place += place < 0 ? size : 0;
      if (std::any_of(places.begin(), places.end(), [&](std::int64_t at) { return at < 0 || at >= size; }))
        return false;
      if (take_alike(state, places)) return true;
    }
    const std::byte* const from = state.bases[data_.buffer] + data_.offset * width_;
    std::byte* const to = state.bases[to_.buffer] + to_.offset * width_;
    const std::int64_t bytes = inner * width_;
    std::atomic<bool> is_inside = true;
    state.threads->for_range(outer * count, grain_for(inner), [&](std::int64_t first, std::int64_t last) {
      while (first < last) {
        const std::int64_t o = first / count, i = first % count, rows = std::min(count - i, last - first);
        const std::span some(positions + (has_lists ? o * count : 0) + i, static_cast<std::size_t>(rows));
        if (!take_rows(to + first * bytes, from + o * size * bytes, size, some, bytes)) is_inside = false;
        first += rows;
      }
    });
    return is_inside;
  }

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
