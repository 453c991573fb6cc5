#include <algorithm>
#include <cstring>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/by_width.h"
#include "libonnxkit/cpu/kernels/grain.h"
#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

/// to[i][j] = from[j][i] in tiles that fit the nearest cache.
template <class T>
void transpose_tiles(T* to, const T* from, std::int64_t rows, std::int64_t columns, std::int64_t to_row,
                     std::int64_t from_column) {
  if constexpr (sizeof(T) == sizeof(float))
    return transpose(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from), rows, columns, to_row,
                     from_column);
  constexpr std::int64_t tile = 16;
  for (std::int64_t r = 0; r < rows; r += tile) {
    for (std::int64_t c = 0; c < columns; c += tile) {
      const std::int64_t last_row = std::min(rows, r + tile), last_column = std::min(columns, c + tile);
      for (std::int64_t i = r; i < last_row; ++i) {
        for (std::int64_t j = c; j < last_column; ++j) to[i * to_row + j] = from[i + j * from_column];
      }
    }
  }
}

/// False where no such loop was made.
template <class T>
bool repeat_few(T* to, const T* from, std::int64_t count, std::int64_t times) {
  if (times == 2) return repeat_numbers<2>(to, from, count), true;
  if (times == 3) return repeat_numbers<3>(to, from, count), true;
  if (times == 4) return repeat_numbers<4>(to, from, count), true;
  return false;
}

template <class T>
void copy_plane(T* to, const T* from, std::int64_t rows, std::int64_t columns, const std::int64_t* to_strides,
                const std::int64_t* from_strides) {
  if (to_strides[1] == 1 && from_strides[0] == 1 && from_strides[1] > 1)
    return transpose_tiles(to, from, rows, columns, to_strides[0], from_strides[1]);
  if (to_strides[1] == 1 && from_strides[1] == 0 && from_strides[0] == 1 && to_strides[0] == columns &&
      repeat_few(to, from, rows, columns))
    return;
  for (std::int64_t r = 0; r < rows; ++r) {
    T* const row_to = to + r * to_strides[0];
    const T* const row_from = from + r * from_strides[0];
    if (to_strides[1] == 1 && from_strides[1] == 1) {
      std::memcpy(row_to, row_from, static_cast<std::size_t>(columns) * sizeof(T));
      continue;
    }
    if (to_strides[1] == 1 && from_strides[1] == 0) {
      std::fill_n(row_to, columns, *row_from);
      continue;
    }
    if (to_strides[1] == 1 && from_strides[1] == 2) {  // a constant distance, which GCC takes whole vectors for
      for (std::int64_t c = 0; c < columns; ++c) row_to[c] = row_from[2 * c];
      continue;
    }
    for (std::int64_t c = 0; c < columns; ++c) row_to[c * to_strides[1]] = row_from[c * from_strides[1]];
  }
}

/// Where planes have few rows that lie side by side, and those of the axis around them are more, they change places.
void make_planes_larger(plan::Loops& loops) {
  constexpr std::int64_t few_rows = 8, most_numbers = 32768;
  const std::size_t depth = loops.sizes.size();
  if (depth < 3 || loops.strides[0][depth - 1] != 1 || loops.strides[1][depth - 1] != 1) return;
  const std::int64_t rows = loops.sizes[depth - 2], around = loops.sizes[depth - 3], columns = loops.sizes[depth - 1];
  if (rows >= few_rows || around <= rows || around > most_numbers / (rows * columns + 1)) return;
  std::swap(loops.sizes[depth - 2], loops.sizes[depth - 3]);
  for (Dims& strides : loops.strides) std::swap(strides[depth - 2], strides[depth - 3]);
}

class CopyKernel : public Kernel {
 public:
  explicit CopyKernel(const plan::Step& step) : from_(step.inputs[0]), to_(step.outputs[0]) {
    const View* views[] = {&to_, &from_};
    plan::Loops loops = plan::joined_loops(views);
    width_ = storage_bits(from_.type) / 8;
    // The axis along which reading is fastest is one of the two inner ones.
    std::size_t depth = loops.sizes.size();
    if (depth > 2 && loops.strides[1][depth - 1] != 1) {
      const auto found = std::find(loops.strides[1].begin(), loops.strides[1].end(), 1);
      if (found != loops.strides[1].end()) {
        const auto axis = static_cast<std::size_t>(found - loops.strides[1].begin());
        std::rotate(loops.sizes.begin() + static_cast<std::ptrdiff_t>(axis),
                    loops.sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, loops.sizes.end() - 1);
        for (Dims& strides : loops.strides)
          std::rotate(strides.begin() + static_cast<std::ptrdiff_t>(axis),
                      strides.begin() + static_cast<std::ptrdiff_t>(axis) + 1, strides.end() - 1);
      }
    }
    make_planes_larger(loops);
    while (depth < 2) {
      loops.sizes.insert(loops.sizes.begin(), 1);
      for (Dims& strides : loops.strides) strides.insert(strides.begin(), 0);
      ++depth;
    }
    loops_ = std::move(loops);
  }

  void run(RunState& state) override {
    std::byte* const to = state.bases[to_.buffer] + to_.offset * width_;
    const std::byte* const from = state.bases[from_.buffer] + from_.offset * width_;
    const std::size_t inner = loops_.sizes.size() - 2;
    std::int64_t planes = 1;
    for (std::size_t axis = 0; axis < inner; ++axis) planes *= loops_.sizes[axis];
    const std::int64_t rows = loops_.sizes[inner], columns = loops_.sizes[inner + 1];
    // Large planes are cut into pieces along their longer axis; those that follow one another in a plane are copied as one.
    const bool by_rows = rows >= columns;
    const std::int64_t length = by_rows ? rows : columns;
    const std::int64_t pieces = std::clamp<std::int64_t>(rows * columns / grain_for(1), 1, length);
    const std::int64_t grain = grain_for(rows * columns / pieces);
    state.threads->for_range(planes * pieces, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t plane = first / pieces; plane * pieces < last; ++plane) {
        std::int64_t rest = plane, to_offset = 0, from_offset = 0;
        for (std::size_t axis = inner; axis-- > 0;) {
          const std::int64_t index = rest % loops_.sizes[axis];
          rest /= loops_.sizes[axis];
          to_offset += index * loops_.strides[0][axis];
          from_offset += index * loops_.strides[1][axis];
        }
        const std::int64_t piece = std::max(first - plane * pieces, std::int64_t{0});
        const std::int64_t end = std::min(last - plane * pieces, pieces);
        const Range part{length * piece / pieces, length * end / pieces};
        copy_part(to + to_offset * width_, from + from_offset * width_, by_rows ? part : Range{0, rows},
                  by_rows ? Range{0, columns} : part);
      }
    });
  }

 private:
  struct Range {
    std::int64_t first, last;
  };
  /// Of a plane.
  void copy_part(std::byte* to, const std::byte* from, Range rows, Range columns) const {
    const std::size_t inner = loops_.sizes.size() - 2;
    const std::int64_t* to_strides = loops_.strides[0].data() + inner;
    const std::int64_t* from_strides = loops_.strides[1].data() + inner;
    to += (rows.first * to_strides[0] + columns.first * to_strides[1]) * width_;
    from += (rows.first * from_strides[0] + columns.first * from_strides[1]) * width_;
    by_width(width_, [&]<class T>(T) {
      copy_plane(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), rows.last - rows.first,
                 columns.last - columns.first, to_strides, from_strides);
    });
  }

  View from_, to_;
  plan::Loops loops_;
  std::int64_t width_ = 0;
};

Result<std::unique_ptr<Kernel>> make_copy(const plan::Step& step, Preparation&) {
  return std::unique_ptr<Kernel>(std::make_unique<CopyKernel>(step));
}

}  // namespace

void register_copy(KernelRegistry& registry);
void register_copy(KernelRegistry& registry) { registry.add(plan::copy_step, make_copy); }

}  // namespace onnxkit::cpu
