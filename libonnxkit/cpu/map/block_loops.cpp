#include "libonnxkit/cpu/map/block_loops.h"

#include <algorithm>

namespace onnxkit::cpu {

BlockLoops::BlockLoops(std::span<const View* const> views, Shape shape) {
  plan::Loops loops = plan::joined_loops(views);
  const std::size_t depth = loops.sizes.size();
  row_strides_.assign(views.size(), 0);
  column_strides_.assign(views.size(), 0);
  if (depth > 0) {
    columns_ = loops.sizes[depth - 1];
    for (std::size_t v = 0; v < views.size(); ++v) column_strides_[v] = loops.strides[v][depth - 1];
  }
  if (depth > 1) {
    rows_ = loops.sizes[depth - 2];
    for (std::size_t v = 0; v < views.size(); ++v) row_strides_[v] = loops.strides[v][depth - 2];
  }
  outer_strides_.resize(views.size());
  for (std::size_t axis = 0; axis + 2 < depth; ++axis) {
    outer_sizes_.push_back(loops.sizes[axis]);
    outer_ *= loops.sizes[axis];
    for (std::size_t v = 0; v < views.size(); ++v) outer_strides_[v].push_back(loops.strides[v][axis]);
  }
  if (shape == Shape::square) {
    constexpr std::int64_t most_rows = 32;
    rows_per_block_ = std::clamp<std::int64_t>(rows_, 1, most_rows);
    columns_per_block_ = std::min(columns_, Program::block / rows_per_block_);
  } else {
    columns_per_block_ = std::min(columns_, Program::block);
    rows_per_block_ = columns_per_block_ < columns_
                          ? 1
                          : std::max<std::int64_t>(1, Program::block / std::max<std::int64_t>(columns_, 1));
    rows_per_block_ = std::min(rows_per_block_, std::max<std::int64_t>(rows_, 1));
    if (columns_ >= fewest_columns_alone && has_number_for_each_row()) rows_per_block_ = 1;
  }
  column_blocks_ = columns_per_block_ == 0 ? 0 : (columns_ + columns_per_block_ - 1) / columns_per_block_;
  row_blocks_ = (rows_ + rows_per_block_ - 1) / rows_per_block_;
}

bool BlockLoops::has_number_for_each_row() const {
  for (std::size_t v = 1; v < row_strides_.size(); ++v)
    if (column_strides_[v] == 0 && row_strides_[v] != 0) return true;
  return false;
}

bool BlockLoops::is_one(std::size_t index) const {
  // Outer loops may give each block another number: it is the same within a block.
  return column_strides_[index + 1] == 0 && (row_strides_[index + 1] == 0 || rows_per_block_ == 1);
}

namespace {

/// The index of the innermost of several loops, which leaves `at` to the others.
std::int64_t taken_from(std::int64_t& at, std::int64_t size) {
  if (size == 1) return 0;
  const std::int64_t index = at % size;
  at /= size;
  return index;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> BlockLoops::place(std::int64_t at, std::span<std::byte* const> bases,
                                                        std::span<const std::int64_t> widths,
                                                        std::span<BlockOperand> operands) const {
  const std::int64_t column = taken_from(at, column_blocks_) * columns_per_block_;
  const std::int64_t row = taken_from(at, row_blocks_) * rows_per_block_;
  std::int64_t outer = at;
  for (std::size_t v = 0; v < operands.size(); ++v) {
    operands[v] = {.data = bases[v] + (row * row_strides_[v] + column * column_strides_[v]) * widths[v],
                   .row_stride = row_strides_[v],
                   .column_stride = column_strides_[v]};
  }
  for (std::size_t axis = outer_sizes_.size(); axis-- > 0 && outer > 0;) {
    const std::int64_t index = outer % outer_sizes_[axis];
    outer /= outer_sizes_[axis];
    for (std::size_t v = 0; v < operands.size(); ++v) operands[v].data += index * outer_strides_[v][axis] * widths[v];
  }
  return {std::min(rows_per_block_, rows_ - row), std::min(columns_per_block_, columns_ - column)};
}

}  // namespace onnxkit::cpu
