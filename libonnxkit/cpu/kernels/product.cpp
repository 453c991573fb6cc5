// Products and convolutions: how the work is divided. A block of rows, described by a table of pointers, is multiplied by panels of b.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "libonnxkit/cpu/kernels/isa.h"

namespace onnxkit::cpu {
namespace {

using std::int32_t;
using std::int64_t;

/// Multiplications that are worth a thread's while.
constexpr double task_products = 1 << 18;
/// Rows of a task, at least; those of one that has all columns.
constexpr int64_t least_rows = 32, enough_rows = 48;
/// Products of more panels are faster with fewer rows at a time, so that 14 * 14 pixels make two blocks.
constexpr int64_t few_panels = 1, wide_block_rows = 192;
/// Rows of a that stay in the second-level cache for all of their depth, in floats: half of it.
int64_t cached_floats() {
  static const int64_t floats = [] {
    constexpr int64_t least = int64_t{1} << 16, most = int64_t{1} << 19;
    return std::clamp<int64_t>(::sysconf(_SC_LEVEL2_CACHE_SIZE) / static_cast<long>(2 * sizeof(float)), least, most);
  }();
  return floats;
}
/// Floats that are worth a thread's while to pack or to look at.
constexpr int64_t packing_floats = 1 << 16;
/// Groups of a convolution with fewer channels than this are computed from patches that are copied.
constexpr int64_t few_channels = 16;

/// Floats of a cache line, on the boundary of which vectors are loaded fastest.
constexpr int64_t line_floats = 16;
float* on_line(float* memory) {
  constexpr std::uintptr_t line = line_floats * sizeof(float);
  return reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory) + line - 1) / line * line);
}

int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }
int64_t round_to(int64_t count, int64_t size) { return blocks_of(count, size) * size; }

/// How c is divided into tasks.
struct Division {
  int64_t block_rows, row_blocks;
  int64_t task_panels, column_blocks;
};

Division divide(const ThreadPool& threads, const Isa& isa, int64_t rows, int64_t columns, int64_t k) {
  const int64_t panels = blocks_of(columns, isa.panel_columns);
  Division division;
  division.row_blocks = blocks_of(rows, panels <= few_panels ? most_block_rows : wide_block_rows);
  division.task_panels = panels;
  const double products = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(k);
  if (threads.threads() > 1 && products > 2 * task_products) {
    const int64_t wanted =
        std::min<int64_t>(int64_t{4} * threads.threads(), static_cast<int64_t>(products / task_products));
    // Where rows are many, each thread has as many blocks of them, and all columns beside: the next step finds its rows with the same thread.
    if (rows >= wanted * enough_rows) {
      division.row_blocks = round_to(std::max(division.row_blocks, wanted), threads.threads());
      division.block_rows = blocks_of(rows, division.row_blocks);
      division.row_blocks = blocks_of(rows, division.block_rows);
      division.column_blocks = 1;
      return division;
    }
    const int64_t splits = std::clamp<int64_t>(blocks_of(wanted, std::max<int64_t>(division.row_blocks, 1)), 1, panels);
    division.task_panels = blocks_of(panels, splits);
    const int64_t tasks = division.row_blocks * blocks_of(panels, division.task_panels);
    if (tasks < wanted) {
      division.row_blocks = std::min(division.row_blocks * blocks_of(wanted, tasks), blocks_of(rows, least_rows));
    }
  }
  division.column_blocks = blocks_of(panels, division.task_panels);
  division.block_rows = std::max<int64_t>(blocks_of(rows, std::max<int64_t>(division.row_blocks, 1)), 1);
  division.row_blocks = blocks_of(rows, division.block_rows);
  return division;
}

/// The depth in pieces that lie side by side in memory, and which of them make up a depth block.
struct Depth {
  std::vector<Segment> segments;
  std::vector<int32_t> lengths, blocks;

  /// `taps` times `channels` elements.
  Depth(int64_t taps, int64_t channels) {
    const int64_t k = taps * channels;
    const int64_t block = round_to(blocks_of(k, std::max<int64_t>(blocks_of(k, depth_block), 1)), 8);
    blocks.push_back(0);
    for (int64_t at = 0; at < k;) {
      const int64_t tap = at / channels, channel = at % channels;
      const int64_t length = std::min(channels - channel, block - at % block);
      segments.push_back({static_cast<int32_t>(tap), static_cast<int32_t>(channel), static_cast<int32_t>(length)});
      lengths.push_back(static_cast<int32_t>(length));
      at += length;
      if (at % block == 0) blocks.push_back(static_cast<int32_t>(lengths.size()));
    }
    if (blocks.size() == 1 || blocks.back() != static_cast<int32_t>(lengths.size())) {
      blocks.push_back(static_cast<int32_t>(lengths.size()));
    }
  }

  int64_t count() const { return static_cast<int64_t>(lengths.size()); }
};

/// Memory for the pointers of a block of rows.
class Table {
 public:
  explicit Table(int64_t size) {
    if (size > static_cast<int64_t>(small_.size()))
      large_ = std::make_unique_for_overwrite<const float*[]>(static_cast<std::size_t>(size));
  }
  const float** get() { return large_ ? large_.get() : small_.data(); }

 private:
  std::array<const float*, 512> small_;
  std::unique_ptr<const float*[]> large_;
};

RowTable row_table(Table& table, const Depth& depth, int64_t rows) {
  return {table.get(), rows, depth.lengths.data(), depth.blocks.data(), static_cast<int64_t>(depth.blocks.size()) - 1};
}

void fill_rows(const RowTable& a, const float** table, const float* first, int64_t stride, int64_t rows) {
  int64_t k = 0;
  for (int64_t s = 0; s < a.blocks[a.block_count]; ++s) {
    for (int64_t i = 0; i < rows; ++i) table[s * a.table_stride + i] = first + i * stride + k;
    k += a.lengths[s];
  }
}

/// Whether lanes go along the depth, pieces of so many numbers side by side: columns are so few that most lanes beside them would be empty.
bool is_by_columns(int64_t pieces, int64_t length, int64_t n, const Isa& isa) {
  constexpr int64_t turning = 3;  // what sums of lanes cost, in multiplications of vectors
  return n <= isa.lanes / 2 && n * (pieces * blocks_of(length, isa.lanes) + turning) < pieces * length;
}

}  // namespace

std::int64_t packed_b_floats(int64_t k, int64_t n, const Isa& isa) { return k * round_to(n, isa.lanes); }

void pack_b(float* to, const float* from, int64_t k, int64_t n, int64_t k_stride, int64_t n_stride, const Isa& isa) {
  (is_by_columns(1, k, n, isa) ? isa.pack_columns : isa.pack_b)(to, from, k, n, k_stride, n_stride);
}

void pack_b(ThreadPool& threads, float* to, const float* from, int64_t k, int64_t n, int64_t k_stride, int64_t n_stride,
            const Isa& isa) {
  if (is_by_columns(1, k, n, isa)) return isa.pack_columns(to, from, k, n, k_stride, n_stride);
  const int64_t grain = packing_floats / std::max<int64_t>(k * isa.panel_columns, 1) + 1;
  threads.for_range(blocks_of(n, isa.panel_columns), grain, [&](int64_t first, int64_t last) {
    const int64_t column = first * isa.panel_columns, end = std::min(last * isa.panel_columns, n);
    isa.pack_b(to + column * k, from + column * n_stride, k, end - column, k_stride, n_stride);
  });
}

namespace {

/// Room for the sums of one task after the other between depth blocks, where there is a residual, which may lie where c does.
class SumsRoom {
 public:
  SumsRoom(const Epilogue& epilogue, const Depth& depth, int64_t rows, int64_t panels, const Isa& isa) {
    if (epilogue.residual == nullptr || depth.blocks.size() < 3) return;
    const int64_t panel = rows * isa.panel_columns;
    floats_ = std::min(std::max(panel, cached_floats()), panels * panel);
    room_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(floats_ + line_floats));
  }
  /// Lets the task keep its sums there.
  void lend(PanelTask& task, const Isa& isa) const {
    if (!room_) return;
    task.sums = on_line(room_.get());
    task.panel_group = std::min(task.panel_group, std::max<int64_t>(floats_ / (task.rows * isa.panel_columns), 1));
  }

 private:
  int64_t floats_ = 0;
  std::unique_ptr<float[]> room_;
};

}  // namespace

// A packed matrix of numbers is the scales, then the zero points, then the numbers, each in panels as a packed b: rows of blocks, and rows of numbers. In a
// byte of two numbers the one of the row with the even number is in the lower half.

int64_t packed_number_floats(const NumberBlocks& numbers, const Isa& isa) {
  const int64_t columns = round_to(numbers.n, isa.lanes);
  return 2 * numbers.blocks() * columns + blocks_of(numbers.byte_rows() * columns, sizeof(float));
}

namespace {

/// Column `j` of a panel. `column` has an even number of rows.
void write_numbers(std::uint8_t* panel, const std::vector<std::uint8_t>& column, const NumberBlocks& numbers,
                   int64_t width, int64_t j) {
  const std::uint8_t* const from = column.data();
  std::uint8_t* to = panel + j;
  for (int64_t row = 0; row < numbers.byte_rows(); ++row, to += width)
    *to = numbers.bits == 4 ? static_cast<std::uint8_t>(from[2 * row] | from[2 * row + 1] << 4) : from[row];
}

}  // namespace

void pack_numbers(ThreadPool& threads, float* to, const NumberBlocks& numbers, const ReadColumn& read, const Isa& isa) {
  if (numbers.k == 0) return;  // `to` may be null then
  const int64_t blocks = numbers.blocks(), columns = round_to(numbers.n, isa.lanes);
  float *const scales = to, *const zeros = to + blocks * columns;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(to + 2 * blocks * columns);
  threads.for_range(blocks_of(numbers.n, isa.panel_columns), 1, [&](int64_t first, int64_t last) {
    std::vector<std::uint8_t> column(static_cast<std::size_t>(round_to(numbers.k, 2)));
    std::vector<float> column_scales(static_cast<std::size_t>(blocks)), column_zeros(column_scales);
    for (int64_t panel = first; panel < last; ++panel) {
      const int64_t before = panel * isa.panel_columns, width = std::min(isa.panel_columns, columns - before);
      for (int64_t j = 0; j < width; ++j) {
        if (before + j < numbers.n) {
          read(before + j, column.data(), column_scales.data(), column_zeros.data());
        } else {
          std::fill(column.begin(), column.end(), std::uint8_t{0});
          std::fill(column_scales.begin(), column_scales.end(), 0.0F);
        }
        write_numbers(bytes + before * numbers.byte_rows(), column, numbers, width, j);
        for (int64_t block = 0; block < blocks; ++block) {
          scales[before * blocks + block * width + j] = column_scales[static_cast<std::size_t>(block)];
          zeros[before * blocks + block * width + j] = column_zeros[static_cast<std::size_t>(block)];
        }
      }
    }
  });
}

namespace {

/// One task of a product, but for the table of its rows.
PanelTask product_task(const Product& product, const Division& division, const Isa& isa, int64_t index) {
  PanelTask task;
  task.first_row = index / division.column_blocks * division.block_rows;
  task.rows = std::min(division.block_rows, product.m - task.first_row);
  task.packed_b = product.packed_b;
  if (product.stored_b.from != nullptr) task.stored_b = &product.stored_b;
  task.numbers = product.numbers;
  task.by_columns =
      product.stored_b.from == nullptr && product.numbers == nullptr && is_by_columns(1, product.k, product.n, isa);
  task.k = product.k;
  task.columns = product.n;
  task.first_panel = index % division.column_blocks * division.task_panels;
  task.panels = std::min(division.task_panels, blocks_of(product.n, isa.panel_columns) - task.first_panel);
  const bool cached = task.rows * product.k <= cached_floats();
  task.panel_group = cached ? 1 : std::max<int64_t>(cached_floats() / (task.rows * isa.panel_columns), 1);
  task.c = product.c + task.first_row * product.c_stride;
  task.c_stride = product.c_stride;
  task.column_offset = 0;
  return task;
}

void run_product_task(PanelTask& task, const Product& product, const float** table, const Epilogue& epilogue,
                      const Isa& isa) {
  fill_rows(task.a, table, product.a + task.first_row * product.a_stride, product.a_stride, task.rows);
  isa.multiply(task, epilogue);
}

}  // namespace

void product(ThreadPool& threads, const Product& product, const Epilogue& epilogue, const Isa& isa) {
  if (product.m == 0 || product.n == 0) return;
  const Division division = divide(threads, isa, product.m, product.n, product.k);
  const int64_t tasks = division.row_blocks * division.column_blocks;
  const bool is_stored = product.stored_b.from != nullptr || product.numbers != nullptr;
  if (tasks == 1 && product.k <= depth_block && !is_stored) {
    const auto length = static_cast<int32_t>(product.k);
    const int32_t blocks[] = {0, 1};
    const float* table[most_block_rows];
    PanelTask task = product_task(product, division, isa, 0);
    task.a = {table, task.rows, &length, blocks, 1};
    return run_product_task(task, product, table, epilogue, isa);
  }
  const Depth depth(1, product.k);
  threads.for_range(tasks, 1, [&](int64_t first, int64_t last) {
    Table table(division.block_rows * depth.count());
    const int64_t panel_floats = is_stored ? depth_block * isa.panel_columns + line_floats : 0;
    const auto room = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(panel_floats));
    const SumsRoom sums(epilogue, depth, division.block_rows, division.task_panels, isa);
    for (int64_t index = first; index < last; ++index) {
      PanelTask task = product_task(product, division, isa, index);
      if (is_stored) task.panel = on_line(room.get());
      sums.lend(task, isa);
      task.a = row_table(table, depth, task.rows);
      run_product_task(task, product, table.get(), epilogue, isa);
    }
  });
}

namespace {

int64_t taps_of(const Window& window) { return window.kernel_height * window.kernel_width; }
int64_t pixels_of(const Window& window) { return window.images * window.out_height * window.out_width; }

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
      isa.depthwise(window, in, weights, pixels, out + offset, epilogue);
    });
  });
}

}  // namespace

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

int64_t row_stride_of(const Window& window) {
  return window.in_row_stride != 0 ? window.in_row_stride : window.width * window.in_pixel_stride;
}
int64_t image_stride_of(const Window& window) {
  return window.in_image_stride != 0 ? window.in_image_stride : window.height * row_stride_of(window);
}
/// Row `row` of all images.
const float* image_row(const Window& window, const float* in, int64_t row) {
  return in + row / window.height * image_stride_of(window) + row % window.height * row_stride_of(window);
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
