#include "libonnxkit/cpu/kernels/division.h"

#include <unistd.h>

#include <algorithm>

namespace onnxkit::cpu {
namespace {

/// Rows of a task, at least; those of one that has all columns.
constexpr int64_t least_rows = 32, enough_rows = 48;
constexpr int64_t rows_worth_loading = 4;
/// Products of more panels are faster with fewer rows at a time, so that 14 * 14 pixels make two blocks.
constexpr int64_t few_panels = 1, wide_block_rows = 192;

}  // namespace

int64_t cached_floats() {
  static const int64_t floats = [] {
    constexpr int64_t least = int64_t{1} << 16, most = int64_t{1} << 19;
    return std::clamp<int64_t>(::sysconf(_SC_LEVEL2_CACHE_SIZE) / static_cast<long>(2 * sizeof(float)), least, most);
  }();
  return floats;
}

float* on_line(float* memory) {
  constexpr std::uintptr_t line = line_floats * sizeof(float);
  return reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory) + line - 1) / line * line);
}

Division divide(const ThreadPool& threads, const Isa& isa, int64_t rows, int64_t columns, int64_t k) {
  const int64_t panels = blocks_of(columns, isa.panel_columns);
  Division division;
  division.row_blocks = blocks_of(rows, panels <= few_panels ? most_block_rows : wide_block_rows);
  division.task_panels = panels;
  // Few rows take as long as more of them, since b is loaded for them alone.
  const double products =
      static_cast<double>(std::max(rows, rows_worth_loading)) * static_cast<double>(columns) * static_cast<double>(k);
  if (threads.threads() > 1 && products > 2 * task_products) {
    int64_t wanted = std::min<int64_t>(int64_t{4} * threads.threads(), static_cast<int64_t>(products / task_products));
    if (wanted > threads.threads()) wanted = round_to(wanted, threads.threads());
    // Where rows are many, each thread has as many blocks of them, and all columns beside: the next step finds its rows with the same thread.
    if (rows >= wanted * enough_rows) {
      division.row_blocks = round_to(std::max(division.row_blocks, wanted), threads.threads());
      division.block_rows = blocks_of(rows, division.row_blocks);
      division.row_blocks = blocks_of(rows, division.block_rows);
      division.column_blocks = 1;
      return division;
    }
    const int64_t splits = std::clamp<int64_t>(blocks_of(wanted, std::max<int64_t>(division.row_blocks, 1)), 1, panels);
    division.task_panels = blocks_of(panels, splits);
    const int64_t tasks = division.row_blocks * blocks_of(panels, division.task_panels);
    if (tasks < wanted) {
      division.row_blocks = std::min(division.row_blocks * blocks_of(wanted, tasks), blocks_of(rows, least_rows));
    }
  }
  division.column_blocks = blocks_of(panels, division.task_panels);
  division.block_rows = std::max<int64_t>(blocks_of(rows, std::max<int64_t>(division.row_blocks, 1)), 1);
  division.row_blocks = blocks_of(rows, division.block_rows);
  return division;
}

Depth::Depth(int64_t taps, int64_t channels) {
  const int64_t k = taps * channels;
  const int64_t block = round_to(blocks_of(k, std::max<int64_t>(blocks_of(k, depth_block), 1)), 8);
  blocks.push_back(0);
  for (int64_t at = 0; at < k;) {
    const int64_t tap = at / channels, channel = at % channels;
    const int64_t length = std::min(channels - channel, block - at % block);
    segments.push_back({static_cast<int32_t>(tap), static_cast<int32_t>(channel), static_cast<int32_t>(length)});
    lengths.push_back(static_cast<int32_t>(length));
    at += length;
    if (at % block == 0) blocks.push_back(static_cast<int32_t>(lengths.size()));
  }
  if (blocks.size() == 1 || blocks.back() != static_cast<int32_t>(lengths.size())) {
    blocks.push_back(static_cast<int32_t>(lengths.size()));
  }
}

RowTable row_table(Table& table, const Depth& depth, int64_t rows) {
  return {table.get(), rows, depth.lengths.data(), depth.blocks.data(), static_cast<int64_t>(depth.blocks.size()) - 1};
}

void fill_rows(const RowTable& a, const float** table, const float* first, int64_t stride, int64_t rows) {
  int64_t k = 0;
  for (int64_t s = 0; s < a.blocks[a.block_count]; ++s) {
    for (int64_t i = 0; i < rows; ++i) table[s * a.table_stride + i] = first + i * stride + k;
    k += a.lengths[s];
  }
}

bool is_by_columns(int64_t pieces, int64_t length, int64_t n, const Isa& isa) {
  constexpr int64_t turning = 3;  // what sums of lanes cost, in multiplications of vectors
  return n <= isa.lanes / 2 && n * (pieces * blocks_of(length, isa.lanes) + turning) < pieces * length;
}

SumsRoom::SumsRoom(const Epilogue& epilogue, const Depth& depth, int64_t rows, int64_t panels, const Isa& isa) {
  if (epilogue.residual == nullptr || depth.blocks.size() < 3) return;
  const int64_t panel = rows * isa.panel_columns;
  floats_ = std::min(std::max(panel, cached_floats()), panels * panel);
  room_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(floats_ + line_floats));
}

void SumsRoom::lend(PanelTask& task, const Isa& isa) const {
  if (!room_) return;
  task.sums = on_line(room_.get());
  task.panel_group = std::min(task.panel_group, std::max<int64_t>(floats_ / (task.rows * isa.panel_columns), 1));
}

}  // namespace onnxkit::cpu
