#pragma once

#include <string>

#include "libonnxkit/cuda/text/element.h"

namespace onnxkit::cuda {

/// Rows of elements side by side, a group of neighbouring threads for each. The elements of short rows are held in registers, as numbers of a lane.
class RowLoops {
 public:
  RowLoops(std::int64_t rows, std::int64_t columns, ElementType type, Lane lane)
      : RowLoops(rows, columns, type, lane, columns) {}
  /// Rows that begin `row_stride` elements apart.
  RowLoops(std::int64_t rows, std::int64_t columns, ElementType type, Lane lane, std::int64_t row_stride);

  /// `row`, `thread`, the number of the thread in its group, and `from`, the row in x0; the elements that are held.
  std::string begin() const;
  /// A loop over the thread's elements of the row, with `at` for their columns and element() for their numbers.
  std::string each(std::string_view statement) const;
  std::string element() const;
  /// "combined<32, Sum<float>>(sum)"
  std::string combined(std::string_view combine, std::string_view number) const;

  std::int64_t blocks() const { return (rows_ + rows_of_block() - 1) / rows_of_block(); }
  std::uint32_t threads() const { return static_cast<std::uint32_t>(width_ * rows_of_block()); }

 private:
  std::int64_t rows_of_block() const { return width_ >= 128 ? 1 : 128 / width_; }
  std::int64_t of_thread() const { return (columns_ + width_ - 1) / width_; }
  bool holds() const { return of_thread() <= 8; }
  std::string condition() const;

  std::int64_t rows_, columns_, row_stride_, width_;
  ElementType type_;
  Lane lane_;
};

}  // namespace onnxkit::cuda
