#pragma once

#include <string>

#include "libonnxkit/cuda/text/expression.h"

namespace onnxkit::cuda {

/// How one operand of a tiled product is read. Texts may use `m` or `n`, the row or column counted from the tile's first one, and `k`; `row`, `column`
/// and `k0` are where the tiles begin.
struct TileOperand {
  bool is_depth_first = false;  ///< neighbouring threads read along k
  std::string once;       ///< statements in front of the loop over k, which see m or n; not when depth comes first
  std::string each_tile;  ///< statements for each tile, which see k0
  std::string each;       ///< statements for each element
  std::string condition;  ///< beside m, n and k being in range: whether it is not 0; may be empty
  std::string element;    ///< the number
};

/// Sums over k of products of rows of one operand and columns of another, tile by tile in shared memory, each thread with a few rows and columns.
class TiledSums {
 public:
  /// `batches` products of [m, k] and [k, n].
  TiledSums(Lane lane, std::int64_t batches, std::int64_t m, std::int64_t n, std::int64_t k);

  /// Of the tiles along k.
  static constexpr std::int64_t depth() { return 16; }
  std::uint32_t threads() const {
    return static_cast<std::uint32_t>(rows_ / thread_rows_ * (columns_ / thread_columns_));
  }
  std::int64_t blocks() const { return batches_ * row_tiles_ * column_tiles_; }

  /// Where the block's tiles begin, and `batch`.
  std::string begin() const;
  /// Sums of a tile.
  std::string sums(const TileOperand& a, const TileOperand& b) const;
  /// A loop over the elements of the tile, neighbouring threads along n or along m: rows `m` and columns `n` of the whole product, and their `sum`.
  std::string begin_results(bool along_n) const;
  std::string end_results() const { return "  }\n"; }

 private:
  std::string load(std::string_view name, const TileOperand& operand, bool is_a) const;
  std::string store(std::string_view name, const TileOperand& operand, bool is_a) const;
  std::string at_of(const TileOperand& operand, bool is_a) const;
  std::int64_t a_stride() const { return rows_ + 4; }
  std::int64_t b_stride() const { return columns_ + 4; }

  Lane lane_;
  std::int64_t batches_, m_, n_, k_;
  std::int64_t rows_ = 32, columns_ = 32, thread_rows_ = 4, thread_columns_ = 4;
  std::int64_t row_tiles_ = 1, column_tiles_ = 1;
};

}  // namespace onnxkit::cuda
