#include "libonnxkit/cuda/text/tiles.h"

#include <algorithm>

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

struct Shape {
  std::int64_t rows, columns, thread_rows, thread_columns;
};
// Sums of the largest take 64 registers of each thread and 32 KiB of shared memory. The number of threads is a multiple of that of rows.
constexpr Shape shapes[] = {{128, 64, 8, 8}, {64, 64, 8, 4}, {32, 32, 4, 4}};

std::int64_t tiles_of(std::int64_t count, std::int64_t tile) { return (count + tile - 1) / tile; }

}  // namespace

TiledSums::TiledSums(Lane lane, std::int64_t batches, std::int64_t m, std::int64_t n, std::int64_t k)
    : lane_(lane), batches_(batches), m_(m), n_(n), k_(k) {
  // As large as leaves enough tiles for all multiprocessors and little of them empty.
  constexpr std::int64_t enough_blocks = 128;
  for (const Shape& shape : shapes) {
    if (lane != Lane::f32 && shape.rows > 64) continue;
    const bool is_last = &shape == &shapes[std::size(shapes) - 1];
    const std::int64_t row_tiles = tiles_of(m, shape.rows), column_tiles = tiles_of(n, shape.columns);
    const bool is_mostly_full = 2 * m * n > row_tiles * shape.rows * column_tiles * shape.columns;
    if (!is_last && (batches * row_tiles * column_tiles < enough_blocks || !is_mostly_full)) continue;
    rows_ = shape.rows, columns_ = shape.columns;
    thread_rows_ = shape.thread_rows, thread_columns_ = shape.thread_columns;
    row_tiles_ = row_tiles, column_tiles_ = column_tiles;
    return;
  }
}

std::string TiledSums::begin() const {
  const std::string batch =
      batches_ == 1 ? "" : fmt::format("  const Index batch = blockIdx.x / {}u;\n", row_tiles_ * column_tiles_);
  return fmt::format(
      "  using Number = {0};\n"
      "  alignas(32) __shared__ Number shared[{1}];  // tiles of both operands, then the sums\n"
      "  Number* const tile_a = shared;\n  Number* const tile_b = shared + {2};\n"
      "  const Index column = blockIdx.x % {3}u * {4}, row = blockIdx.x / {3}u % {5}u * {6};\n"
      "{7}"
      "  const int thread_column = threadIdx.x % {8} * 4, thread_row = threadIdx.x / {8} * 4;\n",
      lane_type(lane_), std::max(depth() * (a_stride() + b_stride()), rows_ * (columns_ + 1)), depth() * a_stride(),
      column_tiles_, columns_, row_tiles_, rows_, batch, columns_ / thread_columns_);
}

std::string TiledSums::at_of(const TileOperand& operand, bool is_a) const {
  const std::int64_t size = is_a ? rows_ : columns_;
  const char name = is_a ? 'm' : 'n';
  if (operand.is_depth_first) {
    return fmt::format("      const int {0} = (i * {1} + threadIdx.x) / {2}, in_tile = threadIdx.x % {2};\n", name,
                       threads(), depth());
  }
  return fmt::format("      const int in_tile = i * {} + threadIdx.x / {};\n", threads() / size, size);
}

std::string TiledSums::load(std::string_view name, const TileOperand& operand, bool is_a) const {
  const std::int64_t size = is_a ? rows_ : columns_, whole = is_a ? m_ : n_;
  const char at = is_a ? 'm' : 'n';
  std::string condition = operand.condition;
  const auto require = [&](const std::string& more) {
    condition = condition.empty() ? more : more + " && " + condition;
  };
  if (k_ % depth() != 0) require(fmt::format("k < {}", k_));
  if (whole % size != 0) require(fmt::format("{} + {} < {}", is_a ? "row" : "column", at, whole));
  const std::string number =
      condition.empty() ? operand.element : fmt::format("{} ? {} : 0", condition, operand.element);
  return fmt::format(
      "#pragma unroll\n    for (int i = 0; i < {}; ++i) {{\n{}      [[maybe_unused]] const Index k = k0 + in_tile;\n{} "
      "     next_{}[i] "
      "= {};\n    }}\n",
      size * depth() / threads(), at_of(operand, is_a), operand.each, name, number);
}

std::string TiledSums::store(std::string_view name, const TileOperand& operand, bool is_a) const {
  const std::int64_t size = is_a ? rows_ : columns_;
  return fmt::format(
      "#pragma unroll\n    for (int i = 0; i < {0}; ++i) {{\n{1}      tile_{2}[in_tile * {3} + {4}] = next_{2}[i];\n   "
      " }}\n",
      size * depth() / threads(), at_of(operand, is_a), name, is_a ? a_stride() : b_stride(), is_a ? 'm' : 'n');
}

std::string TiledSums::sums(const TileOperand& a, const TileOperand& b) const {
  std::string text;
  if (!a.is_depth_first) text += fmt::format("  const int m = threadIdx.x % {};\n{}", rows_, a.once);
  if (!b.is_depth_first) text += fmt::format("  const int n = threadIdx.x % {};\n{}", columns_, b.once);
  text += fmt::format(
      "  Number sums[{0}][{1}] = {{}}, next_a[{2}], next_b[{3}];  // registers: all loops over them are unrolled\n"
      "  const auto load = [&](Index k0) {{\n{4}{5}{6}{7}  }};\n"
      "  load(0);\n  for (Index k0 = 0; k0 < {8}; k0 += {9}) {{\n{10}{11}    __syncthreads();\n"
      "    if (k0 + {9} < {8}) load(k0 + {9});\n",
      thread_rows_, thread_columns_, rows_ * depth() / threads(), columns_ * depth() / threads(), a.each_tile,
      b.each_tile, load("a", a, true), load("b", b, false), k_, depth(), store("a", a, true), store("b", b, false));
  text += fmt::format("#pragma unroll 4\n    for (int k = 0; k < {}; ++k) {{\n      Number part_a[{}], part_b[{}];\n",
                      depth(), thread_rows_, thread_columns_);
  const auto part = [&](char name, std::int64_t count, std::int64_t stride, std::int64_t size, const char* at) {
    text += fmt::format(
        "#pragma unroll\n      for (int i = 0; i < {0}; i += 4) {{\n"
        "        const auto four = load_pack<4>(tile_{1} + k * {2} + i * {3} + {4});\n"
        "#pragma unroll\n        for (int j = 0; j < 4; ++j) part_{1}[i + j] = four.at[j];\n      }}\n",
        count, name, stride, size / count, at);
  };
  part('a', thread_rows_, a_stride(), rows_, "thread_row");
  part('b', thread_columns_, b_stride(), columns_, "thread_column");
  text += fmt::format(
      "#pragma unroll\n      for (int i = 0; i < {0}; ++i) {{\n#pragma unroll\n        for (int j = 0; j < {1}; ++j) "
      "{2};\n"
      "      }}\n    }}\n    __syncthreads();\n  }}\n",
      thread_rows_, thread_columns_,
      lane_ == Lane::i64 ? "sums[i][j] = plus(sums[i][j], times(part_a[i], part_b[j]))"
                         : "sums[i][j] += part_a[i] * part_b[j]");
  return text;
}

std::string TiledSums::begin_results(bool along_n) const {
  std::string text = fmt::format(
      "#pragma unroll\n  for (int i = 0; i < {0}; ++i) {{\n#pragma unroll\n    for (int j = 0; j < {1}; ++j)\n"
      "      shared[(i / 4 * {2} + thread_row + i % 4) * {3} + j / 4 * {4} + thread_column + j % 4] = sums[i][j];\n  "
      "}}\n"
      "  __syncthreads();\n  for (int at = threadIdx.x; at < {5}; at += {6}) {{\n",
      thread_rows_, thread_columns_, rows_ * 4 / thread_rows_, columns_ + 1, columns_ * 4 / thread_columns_,
      rows_ * columns_, threads());
  text += along_n ? fmt::format("    const int in_row = at / {0}, in_column = at % {0};\n", columns_)
                  : fmt::format("    const int in_column = at / {0}, in_row = at % {0};\n", rows_);
  text += "    const Index m = row + in_row, n = column + in_column;\n";
  if (m_ % rows_ != 0 || n_ % columns_ != 0) text += fmt::format("    if (m >= {} || n >= {}) continue;\n", m_, n_);
  return text + fmt::format("    const Number sum = shared[in_row * {} + in_column];\n", columns_ + 1);
}

}  // namespace onnxkit::cuda
