#pragma once

#include <vector>

#include "libonnxkit/cpu/map/program.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {

/// How a program runs over whole tensors: blocks of rows, and loops around them.
class BlockLoops {
 public:
  enum class Shape : std::uint8_t {
    rows,    ///< as long as possible
    square,  ///< about as many rows as columns
  };
  /// The output first, then the inputs, all of one size.
  explicit BlockLoops(std::span<const View* const> views, Shape shape = Shape::rows);

  std::int64_t blocks() const { return outer_ * row_blocks_ * column_blocks_; }
  std::int64_t block_size() const { return rows_per_block_ * columns_per_block_; }
  /// Input `index` is the same number everywhere in a block.
  bool is_one(std::size_t index) const;
  /// Of a view, from row to row of a block.
  std::int64_t row_stride(std::size_t view) const { return row_strides_[view]; }
  /// Block number `at`, for operands that start at `bases` and have elements of `widths` bytes. Returns rows and columns.
  std::pair<std::int64_t, std::int64_t> place(std::int64_t at, std::span<std::byte* const> bases,
                                              std::span<const std::int64_t> widths,
                                              std::span<BlockOperand> operands) const;

 private:
  /// Rows of so many are blocks of their own where an input has one number for each, so that what follows from it is computed once for a row.
  static constexpr std::int64_t fewest_columns_alone = 128;
  bool has_number_for_each_row() const;

  Dims outer_sizes_;
  std::vector<Dims> outer_strides_;  ///< by view
  std::vector<std::int64_t> row_strides_, column_strides_;
  std::int64_t outer_ = 1, rows_ = 1, columns_ = 1;
  std::int64_t rows_per_block_ = 1, columns_per_block_ = 1, row_blocks_ = 1, column_blocks_ = 1;
};

}  // namespace onnxkit::cpu
