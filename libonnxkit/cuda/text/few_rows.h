#pragma once

#include <optional>
#include <string>

#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/plan/view.h"

namespace onnxkit::cuda {

/// Sums of a product one of whose factors has few rows: what takes the time is reading the other one, the weights. Each of them is read once, neighbours
/// by neighbouring threads, 16 bytes at a time where they lie so; the threads of a block share what is summed.
class FewRows {
 public:
  /// Of `batches` products of a [.., m, k] and b [.., k, n]; nothing where both m and n are more than a few.
  static std::optional<FewRows> of(const plan::View& a, const plan::View& b, std::int64_t batches, Lane lane);

  std::uint32_t threads() const { return static_cast<std::uint32_t>(threads_); }
  std::int64_t blocks() const { return batches_ * tiles(); }
  std::int64_t batches() const { return batches_; }
  /// Which of the factors the weights are.
  std::size_t weights() const { return is_swapped_ ? 0 : 1; }
  /// Bytes of weights that a thread reads at once.
  std::int64_t bytes_at_once() const;

  /// Where the block's columns begin, and `batch` if there are several. Neighbouring blocks have neighbouring columns of one product, or with
  /// `shares_weights` the same columns of neighbouring ones.
  std::string begin(bool shares_weights = false) const;
  /// Sums over k of the pointers `a` and `b`.
  std::string sums() const;
  /// The head of a block of statements, in which `m` and `n` are the place of a `sum` in the whole product.
  std::string begin_results() const;
  std::string end_results() const { return "  }\n"; }

 private:
  FewRows() = default;
  void shape_along_depth();
  void shape_along_columns();
  std::int64_t tiles() const { return (columns_ + columns_of_block() - 1) / columns_of_block(); }
  std::int64_t columns_of_block() const {
    return is_along_depth_ ? threads_ / width_ * columns_of_thread_ : width_ * columns_of_thread_;
  }
  std::int64_t loads_of(std::int64_t turns) const;
  std::string sums_along_depth() const;
  std::string sums_along_columns() const;
  std::string loaded_row(std::string_view row, std::string_view place) const;

  Lane lane_ = Lane::f32;
  ElementType type_ = ElementType::undefined, row_type_ = ElementType::undefined;  ///< of weights and rows
  bool is_swapped_ = false;                                                        ///< the rows are columns of b
  std::int64_t batches_ = 1, rows_ = 1, columns_ = 1, depth_ = 1;
  std::int64_t row_stride_ = 0, row_depth_stride_ = 0, column_stride_ = 0, depth_stride_ = 0;
  bool is_along_depth_ = false;  ///< packs of weights, and neighbouring threads, go along k
  bool packs_rows_ = false;
  std::int64_t pack_ = 1;
  std::int64_t width_ = 32;  ///< threads that share a column; when along columns, those that have different ones
  std::int64_t threads_ = 128, columns_of_thread_ = 1;
};

}  // namespace onnxkit::cuda
