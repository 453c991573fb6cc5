#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "libonnxkit/cpu/kernels/isa.h"

// How products and convolutions are divided into tasks, and what tasks need beside their operands.
namespace onnxkit::cpu {

using std::int32_t;
using std::int64_t;

/// Multiplications that are worth a thread's while.
constexpr double task_products = 1 << 18;
/// Floats that are worth a thread's while to pack or to look at.
constexpr int64_t packing_floats = 1 << 16;
/// Rows of a that stay in the second-level cache for all of their depth, in floats: half of it.
int64_t cached_floats();

/// Floats of a cache line, on the boundary of which vectors are loaded fastest.
constexpr int64_t line_floats = 16;
float* on_line(float* memory);

constexpr int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }
constexpr int64_t round_to(int64_t count, int64_t size) { return blocks_of(count, size) * size; }

/// How c is divided into tasks.
struct Division {
  int64_t block_rows, row_blocks;
  int64_t task_panels, column_blocks;
};
Division divide(const ThreadPool& threads, const Isa& isa, int64_t rows, int64_t columns, int64_t k);

/// The depth in pieces that lie side by side in memory, and which of them make up a depth block.
struct Depth {
  std::vector<Segment> segments;
  std::vector<int32_t> lengths, blocks;

  /// `taps` times `channels` elements.
  Depth(int64_t taps, int64_t channels);

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

RowTable row_table(Table& table, const Depth& depth, int64_t rows);
/// The rows of a matrix.
void fill_rows(const RowTable& a, const float** table, const float* first, int64_t stride, int64_t rows);

/// Whether lanes go along the depth, pieces of so many numbers side by side: columns are so few that most lanes beside them would be empty.
bool is_by_columns(int64_t pieces, int64_t length, int64_t n, const Isa& isa);

/// Room for the sums of one task after the other between depth blocks, where there is a residual, which may lie where c does.
class SumsRoom {
 public:
  SumsRoom(const Epilogue& epilogue, const Depth& depth, int64_t rows, int64_t panels, const Isa& isa);
  /// Lets the task keep its sums there.
  void lend(PanelTask& task, const Isa& isa) const;

 private:
  int64_t floats_ = 0;
  std::unique_ptr<float[]> room_;
};

}  // namespace onnxkit::cpu
