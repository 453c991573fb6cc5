#pragma once

#include <cstdint>

#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/kernels/level.h"

// What the kernels' callers need of an instruction set. The files *.inc are compiled once for each; nothing of their code is shared between them.
namespace onnxkit::cpu {

/// Depth that is summed before the sums are stored: a panel of b so deep, and the rows of a, stay in the second-level cache.
constexpr std::int64_t depth_block = 384;
/// Rows that are computed with one panel of b after the other.
constexpr std::int64_t most_block_rows = 200;

/// Rows of an operand a in pieces: elements of segment s of row i begin at table[s * table_stride + i].
struct RowTable {
  const float* const* table;
  std::int64_t table_stride;
  const std::int32_t* lengths;  ///< of the segments
  const std::int32_t* blocks;   ///< the first segment of each depth block, and the number of segments
  std::int64_t block_count;
};

/// Rows of a times panels of b.
struct PanelTask {
  RowTable a;
  std::int64_t rows;
  std::int64_t first_row;                  ///< of c; a, c and the residual begin there
  const float* packed_b;                   ///< whole
  bool by_columns = false;                 ///< it is from pack_columns
  bool passes_padding = false;             ///< rows of a that are zeros for their segment are not multiplied
  const StoredMatrix* stored_b = nullptr;  ///< in its place
  const NumberBlocks* numbers = nullptr;   ///< of which it is packed
  float* panel = nullptr;                  ///< for one panel of either, depth_block deep
  std::int64_t k;
  std::int64_t columns;  ///< of the whole b
  std::int64_t first_panel, panels;
  std::int64_t panel_group;  ///< panels that share a depth block before the next depth block
  float* sums = nullptr;     ///< for panel_group panels of sums between depth blocks, which c cannot hold; null: c does
  float* c;                  ///< row first_row, the column of b's first
  std::int64_t c_stride;
  std::int64_t column_offset;  ///< what column 0 of b is for the epilogue
};

/// Pixels of the output of a convolution, `first` to first + rows, counted through all images.
struct PixelRange {
  std::int64_t first, rows;
};
/// Channels of one tap of a window.
struct Segment {
  std::int32_t tap, channel, length;
};

/// Numbers to reduce: each row to one, or each column.
template <class T>
struct NumberRows {
  const T* from;
  std::int64_t row_stride, rows, columns;
  T* to;
  bool by_columns;
};

struct Isa {
  Level level;
  std::int64_t lanes;
  std::int64_t panel_columns;

  void (*pack_b)(float* to, const float* from, std::int64_t k, std::int64_t n, std::int64_t k_stride,
                 std::int64_t n_stride);
  void (*multiply)(const PanelTask& task, const Epilogue& epilogue);
  /// Columns one after the other, at most half as many as a vector has lanes. `from` may be any address.
  void (*pack_columns)(float* to, const float* from, std::int64_t k, std::int64_t n, std::int64_t k_stride,
                       std::int64_t n_stride);

  /// Where the segments of the pixels' windows are in the image.
  void (*pixel_table)(const Window& window, const float* in, PixelRange pixels, const Segment* segments,
                      std::int64_t segment_count, const float** table, std::int64_t table_stride);
  /// The windows' elements [kernel_height][kernel_width][channels] of each pixel, zeros where there is padding; `channels` from `in` on.
  void (*gather_patches)(const Window& window, const float* in, std::int64_t channels, PixelRange pixels, float* to);
  /// The same for lines of windows, kernel_width * channels floats side by side; those that reach beyond the image are copied.
  void (*line_table)(const Window& window, const float* in, PixelRange pixels, const Segment* segments,
                     std::int64_t segment_count, const float** table, std::int64_t table_stride, float* copies);
  /// One input channel for each output channel; weights are [taps][channels]. The first pixel is at `out`.
  void (*depthwise)(const Convolution& convolution, const float* in, const float* weights, PixelRange pixels,
                    float* out, const Epilogue& epilogue);
  void (*pool)(const Pooling& pooling, const float* in, PixelRange pixels, float* out);

  void (*softmax)(const Rows& rows);
  void (*log_softmax)(const Rows& rows);
  void (*normalize)(const Rows& rows, const Normalization& normalization);
  void (*reduce_rows)(Reduction reduction, const float* from, std::int64_t row_stride, std::int64_t rows,
                      std::int64_t columns, float* to);
  void (*reduce_columns)(Reduction reduction, const float* from, std::int64_t row_stride, std::int64_t rows,
                         std::int64_t columns, float* to);
  void (*reduce_doubles)(Reduction reduction, const NumberRows<double>& rows);
  void (*reduce_integers)(Reduction reduction, const NumberRows<std::int64_t>& rows);
  std::int64_t (*places_of_best)(bool is_largest, const float* from, std::int64_t count, float bound,
                                 std::int64_t* places);
  void (*transpose)(float* to, const float* from, std::int64_t rows, std::int64_t columns, std::int64_t to_row,
                    std::int64_t from_column);
  ArrayFunction* functions[9];  ///< by Function

  std::int64_t (*attention_scratch)(const Attention& attention);
  void (*attend)(const Attention& attention, float* scratch);
  void (*linear_attend)(const LinearAttention& attention);
  bool (*weighted_gather)(const WeightedGather& gather);
};

extern const Isa isa_baseline;
#if defined(__x86_64__)
extern const Isa isa_v3, isa_v4;
#endif

}  // namespace onnxkit::cpu
