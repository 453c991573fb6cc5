// Convolutions: products whose rows are the windows of pixels.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "libonnxkit/cpu/kernels/division.h"
#include "libonnxkit/cpu/kernels/pixels.inc"

namespace onnxkit::cpu {
namespace {

/// Groups of a convolution with fewer channels than this are computed from patches that are copied.
constexpr int64_t few_channels = 16;

/// Calls f(pixels, offset of the first of them in the output) for pixels that are evenly apart there: all of them, or those of a row.
template <class F>
void for_even_pixels(const Window& window, PixelRange pixels, const F& f) {
  if (window.out_row_stride == 0 && window.out_image_stride == 0)
    return f(pixels, pixels.first * window.out_pixel_stride);
  const int64_t end = pixels.first + pixels.rows;
  while (pixels.first < end) {
    const int64_t x = pixels.first % window.out_width, row = pixels.first / window.out_width;
    pixels.rows = std::min(end - pixels.first, window.out_width - x);
    f(pixels, row / window.out_height * window.out_image_stride + row % window.out_height * window.out_row_stride +
                  x * window.out_pixel_stride);
    pixels.first += pixels.rows;
  }
}

/// How a convolution is computed.
struct Form {
  bool depthwise;       ///< one input channel for each output channel
  int64_t joined;       ///< groups that are computed as one, with zeros for weights between them
  int64_t in_channels;  ///< of joined groups
  int64_t out_channels;
  bool copies;  ///< patches, because channels are few
  bool lines;   ///< instead, lines of windows are used where they lie
  bool by_columns;

  int64_t k(const Window& window) const { return taps_of(window) * in_channels; }
};

Form form_of(const Convolution& convolution, const Isa& isa) {
  const int64_t in = convolution.window.channels / convolution.groups,
                out = convolution.out_channels / convolution.groups;
  Form form;
  form.depthwise = convolution.groups > 1 && in == 1 && out == 1;
  form.joined = 1;
  for (int64_t count = 2; count <= convolution.groups && count * out <= isa.lanes; ++count) {
    if (convolution.groups % count == 0) form.joined = count;
  }
  form.in_channels = in * form.joined;
  form.out_channels = out * form.joined;
  const Window& window = convolution.window;
  const bool few = form.in_channels < few_channels && taps_of(window) > 1;
  form.lines = few && window.dilation_width == 1 && window.in_pixel_stride == form.in_channels;
  form.copies = few && !form.lines;
  const int64_t pieces = form.copies ? 1 : form.lines ? window.kernel_height : taps_of(window);
  form.by_columns = form.joined == 1 && is_by_columns(pieces, form.k(window) / pieces, form.out_channels, isa);
  return form;
}

/// One of the joined groups, and the block of pixels.
struct ConvolutionTask {
  const Convolution& convolution;
  const Form& form;
  const Depth& depth;
  const float *in, *packed_weights;
  float* out;
  const Epilogue& epilogue;
  const Isa& isa;

  /// Rows of the operand a: where they are in the image, or in `patches` where they are copied.
  void fill_table(const RowTable& a, const float** table, float* patches, PixelRange pixels, int64_t group) const {
    const Window& window = convolution.window;
    const Segment* const segments = depth.segments.data();
    const float* const channels = in + group * form.in_channels;
    if (form.lines) {
      isa.line_table(window, channels, pixels, segments, depth.count(), table, a.table_stride, patches);
    } else if (form.copies) {
      isa.gather_patches(window, channels, form.in_channels, pixels, patches);
      fill_rows(a, table, patches, form.k(window), pixels.rows);
    } else {
      isa.pixel_table(window, channels, pixels, segments, depth.count(), table, a.table_stride);
    }
  }

  void run(Table& table, float* patches, const SumsRoom& sums, PixelRange pixels, int64_t offset, int64_t group,
           int64_t first_panel, int64_t panels) const {
    const Window& window = convolution.window;
    const int64_t k = form.k(window);
    PanelTask task;
    task.first_row = pixels.first;
    task.rows = pixels.rows;
    task.a = row_table(table, depth, task.rows);
    fill_table(task.a, table.get(), patches, pixels, group);
    task.packed_b = packed_weights + group * packed_b_floats(k, form.out_channels, isa);
    task.by_columns = form.by_columns;
    task.passes_padding = convolution.has_finite_weights;
    task.k = k;
    task.columns = form.out_channels;
    task.first_panel = first_panel;
    task.panels = panels;
    const bool cached = taps_of(window) > 1 || task.rows * k <= cached_floats();
    task.panel_group = cached ? 1 : std::max<int64_t>(cached_floats() / (task.rows * isa.panel_columns), 1);
    task.column_offset = group * form.out_channels;
    task.c = out + offset + task.column_offset;
    task.c_stride = window.out_pixel_stride;
    sums.lend(task, isa);
    isa.multiply(task, epilogue);
  }
};

void convolve_depthwise(ThreadPool& threads, const Convolution& convolution, const float* in, const float* weights,
                        float* out, const Epilogue& epilogue, const Isa& isa) {
  const Window& window = convolution.window;
  const double products = static_cast<double>(taps_of(window)) * static_cast<double>(window.channels);
  const auto grain = static_cast<int64_t>(task_products / 8 / std::max(products, 1.0)) + 1;
  threads.for_range(pixels_of(window), grain, [&](int64_t first, int64_t last) {
    for_even_pixels(window, {first, last - first}, [&](PixelRange pixels, int64_t offset) {
      isa.depthwise(convolution, in, weights, pixels, out + offset, epilogue);
    });
  });
}

}  // namespace

bool packs_by_columns(const Convolution& convolution, const Isa& isa) { return form_of(convolution, isa).by_columns; }

std::int64_t packed_weights_floats(const Convolution& convolution, const Isa& isa) {
  const Form form = form_of(convolution, isa);
  if (form.depthwise) return taps_of(convolution.window) * convolution.window.channels;
  const int64_t sets = convolution.groups / form.joined;
  return sets * packed_b_floats(form.k(convolution.window), form.out_channels, isa);
}

namespace {

/// The weights [out][in][taps] of one group: rows [taps][in] of panels of output channels.
void pack_group(ThreadPool& threads, float* to, const float* weights, const Form& form, int64_t taps, const Isa& isa) {
  const int64_t in = form.in_channels, k = in * taps, n = form.out_channels;
  if (form.by_columns) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t column = 0; column < n; ++column)
        isa.pack_columns(to + column * k + tap * in, weights + column * k + tap, in, 1, taps, k);
    }
    return;
  }
  if (taps == 1) return pack_b(threads, to, weights, k, n, 1, k, isa);
  const int64_t grain = packing_floats / std::max<int64_t>(k * isa.panel_columns, 1) + 1;
  threads.for_range(blocks_of(n, isa.panel_columns), grain, [&](int64_t first, int64_t last) {
    constexpr int64_t most = 16;  // input channels, whose rows stay in the nearest cache between two copies
    const int64_t together = std::min(most, in), widest = round_to(std::min(isa.panel_columns, n), isa.lanes);
    const auto rows = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(together * taps * widest));
    for (int64_t column = first * isa.panel_columns; column < std::min(last * isa.panel_columns, n);
         column += isa.panel_columns) {
      const int64_t columns = std::min(isa.panel_columns, n - column), width = round_to(columns, isa.lanes);
      float* const panel = to + column * k;
      for (int64_t channel = 0; channel < in; channel += together) {
        const int64_t count = std::min(together, in - channel);
        isa.pack_b(rows.get(), weights + column * k + channel * taps, count * taps, columns, 1, k);
        for (int64_t row = 0; row < count * taps; ++row) {
          float* const row_to = panel + (row % taps * in + channel + row / taps) * width;
          std::copy_n(rows.get() + row * width, width, row_to);
        }
      }
    }
  });
}

/// The weights of several groups as those of one, with zeros between them.
void pack_joined(float* to, const float* weights, const Form& form, int64_t taps, const Isa& isa) {
  const int64_t in = form.in_channels / form.joined, out = form.out_channels / form.joined;
  const int64_t k = form.in_channels * taps;
  std::vector<float> b(static_cast<std::size_t>(k * form.out_channels));
  for (int64_t o = 0; o < form.out_channels; ++o) {
    const float* const of_channel = weights + o * in * taps;
    for (int64_t c = 0; c < in; ++c) {
      const int64_t row = o / out * in + c;
      for (int64_t tap = 0; tap < taps; ++tap) {
        float& place = b[static_cast<std::size_t>((tap * form.in_channels + row) * form.out_channels + o)];
        std::memcpy(&place, of_channel + c * taps + tap, sizeof(float));
      }
    }
  }
  isa.pack_b(to, b.data(), k, form.out_channels, form.out_channels, 1);
}

}  // namespace

void pack_weights(ThreadPool& threads, float* to, const float* weights, const Convolution& convolution,
                  const Isa& isa) {
  const Form form = form_of(convolution, isa);
  const int64_t taps = taps_of(convolution.window);
  if (form.depthwise) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t c = 0; c < convolution.out_channels; ++c) std::memcpy(to++, weights + c * taps + tap, sizeof(float));
    }
    return;
  }
  const int64_t floats = packed_b_floats(form.k(convolution.window), form.out_channels, isa);
  const int64_t stored = form.out_channels * (form.in_channels / form.joined) * taps;
  for (int64_t set = 0; set < convolution.groups / form.joined; ++set) {
    if (form.joined == 1)
      pack_group(threads, to + set * floats, weights + set * stored, form, taps, isa);
    else
      pack_joined(to + set * floats, weights + set * stored, form, taps, isa);
  }
}

namespace {

/// Dense or grouped: groups that are joined are one to it.
void convolve_sets(ThreadPool& threads, const Convolution& convolution, const float* in, const float* packed_weights,
                   float* out, const Epilogue& epilogue, const Isa& isa) {
  const Form form = form_of(convolution, isa);
  const Window& window = convolution.window;
  const int64_t pixels = pixels_of(window);
  const int64_t k = form.k(window);
  const int64_t sets = convolution.groups / form.joined;
  const Division division = divide(threads, isa, pixels, form.out_channels, k * sets);
  const Depth depth = form.copies  ? Depth(1, k)
                      : form.lines ? Depth(window.kernel_height, window.kernel_width * form.in_channels)
                                   : Depth(taps_of(window), form.in_channels);
  const ConvolutionTask task{convolution, form, depth, in, packed_weights, out, epilogue, isa};
  const int64_t panels = blocks_of(form.out_channels, isa.panel_columns);
  threads.for_range(division.row_blocks * division.column_blocks, 1, [&](int64_t first, int64_t last) {
    Table table(division.block_rows * depth.count());
    const int64_t patch_floats = form.copies || form.lines ? division.block_rows * k : 0;
    const auto patches = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(patch_floats));
    const SumsRoom sums(epilogue, depth, division.block_rows, division.task_panels, isa);
    for (int64_t index = first; index < last; ++index) {
      const int64_t pixel = index / division.column_blocks * division.block_rows;
      const PixelRange range{pixel, std::min(division.block_rows, pixels - pixel)};
      const int64_t panel = index % division.column_blocks * division.task_panels;
      const int64_t count = std::min(division.task_panels, panels - panel);
      for_even_pixels(window, range, [&](PixelRange part, int64_t offset) {
        for (int64_t set = 0; set < sets; ++set) task.run(table, patches.get(), sums, part, offset, set, panel, count);
      });
    }
  });
}

/// Row `row` of all images.
const float* image_row(const Window& window, const float* in, int64_t row) {
  return in + in_row(window, row / window.height, row % window.height);
}

/// Whether the image has neither infinities nor NaN. By its sums, which may be infinite where no number is.
bool is_finite(ThreadPool& threads, const Window& window, const float* in, const Isa& isa) {
  const bool is_one = window.in_pixel_stride == window.channels;  // pixels follow one another
  const int64_t lines = is_one ? 1 : window.width, floats = window.channels * (is_one ? window.width : 1);
  std::atomic<bool> all = true;
  threads.for_range(window.images * window.height, packing_floats / (lines * floats) + 1,
                    [&](int64_t first, int64_t last) {
                      std::vector<float> sums(static_cast<std::size_t>(lines));
                      for (int64_t row = first; row < last; ++row) {
                        isa.reduce_rows(Reduction::sum, image_row(window, in, row), window.in_pixel_stride, lines,
                                        floats, sums.data());
                        if (!std::all_of(sums.begin(), sums.end(), [](float sum) { return std::isfinite(sum); }))
                          all.store(false, std::memory_order_relaxed);
                      }
                    });
  return all;
}

/// The image without gaps, with zeros for all channels but those of the group that is number `kept` in its set.
std::vector<float> image_of_groups(const Window& window, const float* in, int64_t joined, int64_t channels,
                                   int64_t kept) {
  const int64_t rows = window.images * window.height;
  std::vector<float> image(static_cast<std::size_t>(rows * window.width * window.channels));
  float* to = image.data();
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = image_row(window, in, row);
    for (int64_t x = 0; x < window.width; ++x, from += window.in_pixel_stride) {
      for (int64_t c = 0; c < window.channels; ++c, ++to) *to = c / channels % joined == kept ? from[c] : 0;
    }
  }
  return image;
}

/// One group of each set after the other: the zeros between joined groups would make NaN of an infinity of another group.
void convolve_groups(ThreadPool& threads, const Convolution& convolution, const float* in, const float* packed_weights,
                     float* out, const Epilogue& epilogue, const Isa& isa) {
  const Form form = form_of(convolution, isa);
  const Window& window = convolution.window;
  const int64_t channels = form.out_channels / form.joined;
  const auto for_pixels = [&](const auto& f) {
    for_even_pixels(window, {0, pixels_of(window)}, [&](PixelRange pixels, int64_t offset) {
      for (int64_t i = 0; i < pixels.rows; ++i) f(offset + i * window.out_pixel_stride);
    });
  };
  int64_t end = 0;
  for_pixels([&](int64_t at) { end = std::max(end, at + convolution.out_channels); });
  std::vector<float> whole(static_cast<std::size_t>(end));
  Convolution one = convolution;
  one.window.in_pixel_stride = window.channels;
  one.window.in_row_stride = one.window.in_image_stride = 0;
  for (int64_t kept = 0; kept < form.joined; ++kept) {
    const std::vector<float> image = image_of_groups(window, in, form.joined, form.in_channels / form.joined, kept);
    convolve_sets(threads, one, image.data(), packed_weights, whole.data(), epilogue, isa);
    for_pixels([&](int64_t at) {
      for (int64_t c = kept * channels; c < convolution.out_channels; c += form.out_channels)
        std::copy_n(whole.data() + at + c, channels, out + at + c);
    });
  }
}

}  // namespace

void convolve(ThreadPool& threads, const Convolution& convolution, const float* in, const float* packed_weights,
              float* out, const Epilogue& epilogue, const Isa& isa) {
  const Form form = form_of(convolution, isa);
  const Window& window = convolution.window;
  if (pixels_of(window) == 0 || convolution.out_channels == 0) return;
  if (form.depthwise) return convolve_depthwise(threads, convolution, in, packed_weights, out, epilogue, isa);
  if (form.joined == 1 || is_finite(threads, window, in, isa))
    return convolve_sets(threads, convolution, in, packed_weights, out, epilogue, isa);
  convolve_groups(threads, convolution, in, packed_weights, out, epilogue, isa);
}

}  // namespace onnxkit::cpu
