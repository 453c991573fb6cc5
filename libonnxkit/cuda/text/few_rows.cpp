#include "libonnxkit/cuda/text/few_rows.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/text/axes.h"

namespace onnxkit::cuda {
namespace {

constexpr std::int64_t most_rows = 4, warp = 32, bytes_of_load = 16;
constexpr std::int64_t enough_warps_reading = 1024, enough_blocks_reading = 128;  // to keep all multiprocessors loading

std::int64_t bytes_of(ElementType type) { return std::max<std::int64_t>(storage_bits(type) / 8, 1); }

/// Elements that loads along `axis` may take at once.
std::int64_t pack_along(const plan::View& view, std::size_t axis, std::int64_t most) {
  if (view.strides[axis] != 1) return 1;
  std::int64_t pack = most;
  const auto fits = [&](std::int64_t number) { return number % pack == 0; };
  const auto all_fit = [&] {
    for (std::size_t i = 0; i < view.rank(); ++i)
      if (i != axis && view.dims[i] != 1 && !fits(view.strides[i])) return false;
    return fits(view.offset) && fits(view.dims[axis]);
  };
  while (pack > 1 && !all_fit()) pack /= 2;
  return pack;
}

}  // namespace

std::optional<FewRows> FewRows::of(const plan::View& a, const plan::View& b, std::int64_t batches, Lane lane) {
  const std::size_t last = a.rank() - 1, before = last - 1;
  const std::int64_t m = a.dims[before], n = b.dims[last];
  if (lane == Lane::i64 || std::min(m, n) > most_rows) return std::nullopt;
  FewRows made;
  made.lane_ = lane;
  made.is_swapped_ = m > n;
  const plan::View &rows = made.is_swapped_ ? b : a, &weights = made.is_swapped_ ? a : b;
  const std::size_t across = made.is_swapped_ ? last : before, along = made.is_swapped_ ? before : last;
  made.type_ = weights.type, made.row_type_ = rows.type;
  made.batches_ = batches, made.rows_ = std::min(m, n), made.columns_ = std::max(m, n), made.depth_ = a.dims[last];
  made.row_stride_ = rows.strides[across], made.row_depth_stride_ = rows.strides[along];
  // In the other factor the axes change places.
  made.column_stride_ = weights.strides[along], made.depth_stride_ = weights.strides[across];
  const std::int64_t most_pack = std::max<std::int64_t>(bytes_of_load / bytes_of(weights.type), 1);
  const std::int64_t along_depth = pack_along(weights, across, most_pack),
                     along_columns = pack_along(weights, along, most_pack);
  made.is_along_depth_ = along_depth != along_columns
                             ? along_depth > along_columns
                             : std::abs(made.depth_stride_) < std::abs(made.column_stride_) || made.columns_ == 1;
  made.pack_ = made.is_along_depth_ ? along_depth : along_columns;
  made.packs_rows_ = made.is_along_depth_ && made.pack_ > 1 && pack_along(rows, along, made.pack_) == made.pack_;
  if (made.is_along_depth_)
    made.shape_along_depth();
  else
    made.shape_along_columns();
  return made;
}

/// A warp for a column; two columns where there are many, several warps where there are few.
void FewRows::shape_along_depth() {
  constexpr std::int64_t many_columns = 4096, least_loads = 4;
  const std::int64_t all = batches_ * columns_;
  if (all >= many_columns) columns_of_thread_ = 2;
  while (width_ < 256 && all * width_ / warp < enough_warps_reading && depth_ >= 2 * width_ * pack_ * least_loads)
    width_ *= 2;
  threads_ = std::max<std::int64_t>(128, width_);
}

/// Neighbours have 128 bytes of a row, or less where that leaves multiprocessors without work; the rest of the threads has other rows.
void FewRows::shape_along_columns() {
  constexpr std::int64_t most_bytes = 128, least_bytes = 32, threads_of_block = 512, least_loads = 4;
  columns_of_thread_ = pack_;
  width_ = std::clamp<std::int64_t>(most_bytes / (pack_ * bytes_of(type_)), 1, warp);
  while (width_ > 1 && width_ * pack_ * bytes_of(type_) > least_bytes && blocks() < enough_blocks_reading) width_ /= 2;
  threads_ = power_of_two_from(depth_ * width_ / least_loads, threads_of_block);
  threads_ = std::max<std::int64_t>(threads_, 2 * warp);
}

std::int64_t FewRows::bytes_at_once() const { return pack_ * bytes_of(type_); }

std::string FewRows::begin(bool shares_weights) const {
  const std::int64_t inner = shares_weights ? batches_ : tiles();
  const std::string batch =
      batches_ == 1 ? "" : fmt::format("  const Index batch = blockIdx.x {} {}u;\n", shares_weights ? '%' : '/', inner);
  return fmt::format(
      "  using Number = {};\n{}  const Index first = blockIdx.x {} {}u * {};\n"
      "  const int thread = threadIdx.x % {}, group = threadIdx.x / {};\n",
      lane_type(lane_), batch, shares_weights ? '/' : '%', inner, columns_of_block(), width_, width_);
}

std::string FewRows::loaded_row(std::string_view row, std::string_view place) const {
  return loaded(
      row_type_, lane_,
      fmt::format("{}[{} * {} + {} * {}]", is_swapped_ ? "b" : "a", row, row_stride_, place, row_depth_stride_));
}

/// Several loads are on their way before the first is used. Columns behind the last are read as that one, and not stored.
std::string FewRows::sums() const {
  const std::int64_t step = is_along_depth_ ? width_ * pack_ : threads_ / width_, turns = (depth_ + step - 1) / step;
  const std::int64_t loads = loads_of(turns);
  const std::string condition = depth_ % step == 0 && turns % loads == 0 ? "" : fmt::format("k < {}", depth_);
  const std::int64_t columns = is_along_depth_ ? columns_of_thread_ : 1;  // at so many places
  std::string column =
      is_along_depth_ ? fmt::format("first + group * {}", columns) : fmt::format("first + thread * {}", pack_);
  std::string place = is_along_depth_ && columns > 1 ? "(column + c)" : "column";
  const std::int64_t last = is_along_depth_ ? columns_ - 1 : columns_ - pack_;
  if (columns_ % columns_of_block() != 0) place = fmt::format("smaller<Index>({}, {})", place, last);
  std::string text = fmt::format(
      "  Number sums[{0}][{1}] = {{}};  // registers: all loops over them are unrolled\n  const Index column = {2};\n"
      "  for (Index start = {3}; start < {4}; start += {5}) {{\n    Pack<{6}, {7}> weights[{8}][{9}];\n"
      "#pragma unroll\n    for (int i = 0; i < {8}; ++i) {{\n      {10}Index k = start + i * {11};\n{12}"
      "#pragma unroll\n      for (int c = 0; c < {9}; ++c)\n"
      "        weights[i][c] = load_pack<{7}>({13} + {14} * {15} + k * {16});\n    }}\n",
      rows_, columns_of_thread_, column, is_along_depth_ ? fmt::format("thread * {}", pack_) : "group", depth_,
      loads * step, stored_type(type_), pack_, loads, columns, condition.empty() ? "const " : "", step,
      condition.empty() ? "" : fmt::format("      if (k >= {}) k = start;\n", depth_), is_swapped_ ? "a" : "b", place,
      column_stride_, depth_stride_);
  text += fmt::format("#pragma unroll\n    for (int i = 0; i < {}; ++i) {{\n      const Index k = start + i * {};\n{}",
                      loads, step, condition.empty() ? "" : fmt::format("      if (k >= {}) break;\n", depth_));
  text += is_along_depth_ ? sums_along_depth() : sums_along_columns();
  return text + "    }\n  }\n";
}

/// As many as divide the turns of a thread, so that none goes too far.
std::int64_t FewRows::loads_of(std::int64_t turns) const {
  const std::int64_t most = (rows_ == 1 ? 8 : 4) / (is_along_depth_ ? columns_of_thread_ : 1);
  for (std::int64_t loads = std::min(most, turns); 2 * loads > most; --loads)
    if (turns % loads == 0) return loads;
  return std::min(most, turns);
}

std::string FewRows::sums_along_depth() const {
  std::string text = fmt::format("      Number row[{}][{}];\n#pragma unroll\n      for (int r = 0; r < {}; ++r) {{\n",
                                 rows_, pack_, rows_);
  if (packs_rows_) {
    text += fmt::format(
        "        const auto pack = load_pack<{0}>({1} + r * {2} + k);\n"
        "#pragma unroll\n        for (int j = 0; j < {0}; ++j) row[r][j] = {3};\n",
        pack_, is_swapped_ ? "b" : "a", row_stride_, loaded(row_type_, lane_, "pack.at[j]"));
  } else {
    text += fmt::format("#pragma unroll\n        for (int j = 0; j < {}; ++j) row[r][j] = {};\n", pack_,
                        loaded_row("r", "(k + j)"));
  }
  return text + fmt::format(
                    "      }}\n#pragma unroll\n      for (int c = 0; c < {}; ++c)\n#pragma unroll\n"
                    "        for (int j = 0; j < {}; ++j)\n#pragma unroll\n"
                    "          for (int r = 0; r < {}; ++r) sums[r][c] += row[r][j] * {};\n",
                    columns_of_thread_, pack_, rows_, loaded(type_, lane_, "weights[i][c].at[j]"));
}

std::string FewRows::sums_along_columns() const {
  return fmt::format(
      "#pragma unroll\n      for (int r = 0; r < {0}; ++r) {{\n        const Number x = {1};\n"
      "#pragma unroll\n        for (int j = 0; j < {2}; ++j) sums[r][j] += x * {3};\n      }}\n",
      rows_, loaded_row("r", "k"), pack_, loaded(type_, lane_, "weights[i][0].at[j]"));
}

std::string FewRows::begin_results() const {
  const char *const of_row = is_swapped_ ? "n" : "m", *const of_column = is_swapped_ ? "m" : "n";
  if (is_along_depth_) {
    const std::int64_t results = rows_ * columns_of_thread_;
    std::string text = fmt::format(
        "  Number sum = 0;\n#pragma unroll\n  for (int r = 0; r < {0}; ++r) {{\n#pragma unroll\n"
        "    for (int c = 0; c < {1}; ++c) {{\n      const Number whole = combined<{2}, Sum<Number>>(sums[r][c]);\n"
        "      if (thread == r * {1} + c) sum = whole;\n    }}\n  }}\n",
        rows_, columns_of_thread_, width_);
    text += fmt::format(
        "  [[maybe_unused]] const Index {0} = thread / {1}, {2} = column + thread % {1};\n  if (thread < {3}{4}) {{\n",
        of_row, columns_of_thread_, of_column, results,
        columns_ % columns_of_block() == 0 ? "" : fmt::format(" && {} < {}", of_column, columns_));
    return text;
  }
  const std::int64_t columns = columns_of_block(), warps = threads_ / warp;
  std::string text;
  if (width_ < warp) {
    text += fmt::format(
        "#pragma unroll\n  for (int mask = {}; mask < 32; mask *= 2) {{\n#pragma unroll\n    for (int r = 0; r < {}; "
        "++r) "
        "{{\n#pragma unroll\n      for (int i = 0; i < {}; ++i) sums[r][i] += __shfl_xor_sync(0xffffffffu, sums[r][i], "
        "mask);\n    }}\n  }}\n",
        width_, rows_, pack_);
  }
  text += fmt::format(
      "  __shared__ Number parts[{0}][{1}];\n  if (threadIdx.x % 32 < {2}) {{\n#pragma unroll\n"
      "    for (int r = 0; r < {3}; ++r) {{\n#pragma unroll\n"
      "      for (int i = 0; i < {4}; ++i) parts[threadIdx.x / 32][r * {5} + thread * {4} + i] = sums[r][i];\n    }}\n "
      " }}\n"
      "  __syncthreads();\n  for (int at = threadIdx.x; at < {1}; at += {6}) {{\n"
      "    [[maybe_unused]] const Index {7} = at / {5}, {8} = first + at % {5};\n",
      warps, rows_ * columns, width_, rows_, pack_, columns, threads_, of_row, of_column);
  if (columns_ % columns != 0) text += fmt::format("    if ({} >= {}) continue;\n", of_column, columns_);
  text += fmt::format(
      "    Number sum = parts[0][at];\n#pragma unroll\n    for (int i = 1; i < {}; ++i) sum += parts[i][at];\n", warps);
  return text;
}

}  // namespace onnxkit::cuda
