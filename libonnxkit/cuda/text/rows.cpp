#include "libonnxkit/cuda/text/rows.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/axes.h"

namespace onnxkit::cuda {

RowLoops::RowLoops(std::int64_t rows, std::int64_t columns, ElementType type, Lane lane, std::int64_t row_stride)
    : rows_(rows),
      columns_(columns),
      row_stride_(row_stride),
      width_(power_of_two_from((columns + 7) / 8, 1024)),
      type_(type),
      lane_(lane) {
  // A warp reads 32 neighbours at once; less than that for rows that are shorter.
  width_ = std::max(width_, power_of_two_from(columns, 32));
}

std::string RowLoops::begin() const {
  std::string text = fmt::format(
      "  using Number = {0};\n  const long long row = (long long)blockIdx.x * {1} + threadIdx.x / {2};\n"
      "  const int thread = threadIdx.x % {2};\n  const {3}* const from = x0 + row * {4};\n",
      lane_type(lane_), rows_of_block(), width_, stored_type(type_), row_stride_);
  if (holds()) {
    text += fmt::format("  Number held[{0}] = {{}};  // registers: all loops over them are unrolled\n", of_thread());
    text += each(fmt::format("held[i] = {};", loaded(type_, lane_, "from[at]")));
  }
  return text;
}

std::string RowLoops::condition() const {
  std::string text;
  if (rows_ % rows_of_block() != 0) text = fmt::format("row < {}", rows_);
  if (columns_ % width_ != 0) text += fmt::format("{}at < {}", text.empty() ? "" : " && ", columns_);
  return text;
}

std::string RowLoops::each(std::string_view statement) const {
  if (!holds()) {
    const std::string rows = rows_ % rows_of_block() != 0 ? fmt::format("row < {} && ", rows_) : "";
    return fmt::format("  for (int at = thread; {}at < {}; at += {}) {}\n", rows, columns_, width_, statement);
  }
  const std::string inside = condition();
  return fmt::format(
      "#pragma unroll\n  for (int i = 0; i < {}; ++i) {{\n    [[maybe_unused]] const int at = i * {} + thread;\n    "
      "{}{}\n  }}\n",
      of_thread(), width_, inside.empty() ? "" : fmt::format("if ({}) ", inside), statement);
}

std::string RowLoops::element() const { return holds() ? "held[i]" : loaded(type_, lane_, "from[at]"); }

std::string RowLoops::combined(std::string_view combine, std::string_view number) const {
  return fmt::format("combined<{}, {}<Number>>({})", width_, combine, number);
}

}  // namespace onnxkit::cuda
