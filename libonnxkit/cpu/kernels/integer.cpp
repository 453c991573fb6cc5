#include <algorithm>
#include <cstring>
#include <memory>

#include "libonnxkit/cpu/kernels/division.h"
#include "libonnxkit/cpu/kernels/integer_isa.h"
#include "libonnxkit/cpu/kernels/pixels.inc"

namespace onnxkit::cpu {
namespace {

std::int64_t depth_of(const IntegerConvolution& convolution) {
  const Window& window = convolution.window;
  return taps_of(window) * (convolution.is_depthwise ? 1 : window.channels);
}

/// Rows of the image are rows of numbers as they are: one tap, bytes that instructions take, whole words.
bool reads_in_place(const IntegerConvolution& convolution, const IntegerIsa& isa) {
  const Window& window = convolution.window;
  return isa.numbers == 4 && !convolution.is_signed && depth_of(convolution) == window.channels &&
         window.channels % isa.numbers == 0 && window.stride_height == 1 && window.stride_width == 1 &&
         window.pad_top == 0 && window.pad_left == 0 && window.out_height == window.height &&
         window.out_width == window.width;
}

#if defined(__x86_64__)
constexpr const IntegerIsa* integer_isas[] = {&integer_isa_baseline, &integer_isa_v3, &integer_isa_v4,
                                              &integer_isa_vnni};
#else
constexpr const IntegerIsa* integer_isas[] = {&integer_isa_baseline};
#endif

}  // namespace

std::vector<const IntegerIsa*> usable_integer_isas() {
  std::vector<const IntegerIsa*> usable;
  for (const Level level : usable_levels()) usable.push_back(&at_level(integer_isas, level));
  return usable;
}

const IntegerIsa& best_integer_isa() { return at_level(integer_isas, best_level()); }

const char* integer_isa_name(const IntegerIsa& isa) { return name_of(isa.level); }

std::int64_t packed_integer_words(const IntegerConvolution& convolution, const IntegerIsa& isa) {
  const std::int64_t depth = depth_of(convolution);
  if (convolution.is_depthwise) return depth * convolution.out_channels;
  return blocks_of(depth, isa.numbers) * blocks_of(convolution.out_channels, isa.lanes) * isa.lanes;
}

namespace {

struct FilterSizes {
  std::int64_t taps, channels;
};

/// Weights [channels][taps] of a filter as numbers of words that are `width` words apart, channels side by side.
void pack_filter(char* to, const std::int8_t* filter, FilterSizes sizes, std::int64_t width, std::int64_t numbers) {
  std::int64_t place = 0;
  for (std::int64_t tap = 0; tap < sizes.taps; ++tap) {
    for (std::int64_t c = 0; c < sizes.channels; ++c) {
      const std::int8_t weight = filter[c * sizes.taps + tap];
      const std::int16_t wide = weight;
      if (numbers == 4)
        std::memcpy(to + place, &weight, sizeof(weight));
      else
        std::memcpy(to + place * 2, &wide, sizeof(wide));
      if (++place == numbers) place = 0, to += width * 4;
    }
  }
}

}  // namespace

void pack_integers(ThreadPool& threads, std::int32_t* to, const std::int8_t* weights,
                   const IntegerConvolution& convolution, const IntegerIsa& isa) {
  const Window& window = convolution.window;
  const std::int64_t taps = taps_of(window), depth = depth_of(convolution);
  const std::int64_t columns = convolution.out_channels;
  if (convolution.is_depthwise) {
    // The upper half of a word meets the upper half of a widened byte, which is its sign.
    for (std::int64_t t = 0; t < taps; ++t) {
      for (std::int64_t c = 0; c < columns; ++c)
        *to++ = static_cast<std::int32_t>(static_cast<std::uint16_t>(weights[c * taps + t]));
    }
    return;
  }
  const std::int64_t words = blocks_of(depth, isa.numbers), channels = window.channels;
  std::fill_n(to, packed_integer_words(convolution, isa), 0);
  constexpr std::int64_t packing_weights = 1 << 16;
  threads.for_range(
      columns, packing_weights / std::max<std::int64_t>(depth, 1) + 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t column = begin; column < end; ++column) {
          const std::int64_t first = column / isa.panel_columns * isa.panel_columns;
          const std::int64_t width = blocks_of(std::min(isa.panel_columns, columns - first), isa.lanes) * isa.lanes;
          pack_filter(reinterpret_cast<char*>(to + first * words + (column - first)), weights + column * depth,
                      {taps, channels}, width, isa.numbers);
        }
      });
}

std::int32_t held_zero_point(const IntegerConvolution& convolution, std::int32_t zero, const IntegerIsa& isa) {
  return isa.numbers == 4 && convolution.is_signed && !convolution.is_depthwise ? zero + 128 : zero;
}

namespace {

/// Multiplications that are worth a thread's while, rows of a task, and rows that are gathered at a time.
constexpr std::int64_t products_of_task = 1 << 19, rows_of_task = 192, gathered_rows = 48;

void convolve_dense(ThreadPool& threads, const IntegerConvolution& convolution, const std::uint8_t* in,
                    std::int32_t zero, const std::int32_t* packed, const IntegerResult& result, const IntegerIsa& isa) {
  const Window& window = convolution.window;
  const std::int64_t rows = pixels_of(window), panels = blocks_of(convolution.out_channels, isa.panel_columns);
  const std::int64_t words = blocks_of(depth_of(convolution), isa.numbers);
  const bool in_place = reads_in_place(convolution, isa);
  std::int64_t block = rows_of_task;
  if (threads.threads() > 1) {
    const std::int64_t wanted = 4 * static_cast<std::int64_t>(threads.threads());
    block = std::clamp<std::int64_t>(blocks_of(rows, wanted), std::min<std::int64_t>(rows, 24), rows_of_task);
  }
  const std::int64_t row_blocks = blocks_of(rows, block);
  const double products = static_cast<double>(rows) * static_cast<double>(words * isa.numbers) *
                          static_cast<double>(convolution.out_channels);
  const bool splits = threads.threads() > 1 && row_blocks < 2 * static_cast<std::int64_t>(threads.threads()) &&
                      products > 2 * static_cast<double>(products_of_task);
  const std::int64_t column_blocks = splits ? panels : 1, task_panels = panels / column_blocks;
  threads.for_range(row_blocks * column_blocks, 1, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t row_bytes = in_place ? window.in_pixel_stride : words * 4;
    const auto gathered = std::make_unique_for_overwrite<std::uint8_t[]>(
        in_place ? 0 : static_cast<std::size_t>(gathered_rows * row_bytes));
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t begin = task / column_blocks * block, end = std::min(begin + block, rows);
      const std::int64_t step = in_place ? block : gathered_rows;
      for (std::int64_t row = begin; row < end; row += step) {
        const std::int64_t count = std::min(step, end - row);
        const std::uint8_t* from = in + row * window.in_pixel_stride;
        if (!in_place) {
          isa.gather(convolution, in, zero, {row, count}, gathered.get(), row_bytes);
          from = gathered.get();
        }
        isa.multiply({.rows = from,
                      .row_bytes = row_bytes,
                      .count = count,
                      .first_row = row,
                      .packed = packed,
                      .words = words,
                      .columns = convolution.out_channels,
                      .first_panel = task % column_blocks * task_panels,
                      .panels = task_panels,
                      .out_stride = window.out_pixel_stride},
                     result);
      }
    }
  });
}

}  // namespace

void convolve_integers(ThreadPool& threads, const IntegerConvolution& convolution, const std::uint8_t* in,
                       std::int32_t held_zero, const std::int32_t* packed, const IntegerResult& result,
                       const IntegerIsa& isa) {
  const Window& window = convolution.window;
  const std::int64_t pixels = pixels_of(window);
  if (pixels == 0 || convolution.out_channels == 0) return;
  if (!convolution.is_depthwise) return convolve_dense(threads, convolution, in, held_zero, packed, result, isa);
  const std::vector<std::uint8_t> padding(static_cast<std::size_t>(window.channels + isa.lanes * 4),
                                          static_cast<std::uint8_t>(held_zero));
  const std::int64_t grain =
      products_of_task / 4 / std::max<std::int64_t>(depth_of(convolution) * window.channels, 1) + 1;
  threads.for_range(pixels, grain, [&](std::int64_t first, std::int64_t last) {
    isa.depthwise(convolution, in, padding.data(), packed, {first, last - first}, result);
  });
}

}  // namespace onnxkit::cpu
