// Products: a block of rows, described by a table of pointers, is multiplied by panels of b.
#include <algorithm>
#include <memory>
#include <vector>

#include "libonnxkit/cpu/kernels/division.h"

namespace onnxkit::cpu {

std::int64_t packed_b_floats(int64_t k, int64_t n, const Isa& isa) { return k * round_to(n, isa.lanes); }

void pack_b(float* to, const float* from, int64_t k, int64_t n, int64_t k_stride, int64_t n_stride, const Isa& isa) {
  (is_by_columns(1, k, n, isa) ? isa.pack_columns : isa.pack_b)(to, from, k, n, k_stride, n_stride);
}

void pack_b(ThreadPool& threads, float* to, const float* from, int64_t k, int64_t n, int64_t k_stride, int64_t n_stride,
            const Isa& isa) {
  if (is_by_columns(1, k, n, isa)) return isa.pack_columns(to, from, k, n, k_stride, n_stride);
  const int64_t grain = packing_floats / std::max<int64_t>(k * isa.panel_columns, 1) + 1;
  threads.for_range(blocks_of(n, isa.panel_columns), grain, [&](int64_t first, int64_t last) {
    const int64_t column = first * isa.panel_columns, end = std::min(last * isa.panel_columns, n);
    isa.pack_b(to + column * k, from + column * n_stride, k, end - column, k_stride, n_stride);
  });
}

// A packed matrix of numbers is the scales, then the zero points, then the numbers, each in panels as a packed b: rows of blocks, and rows of numbers. In a
// byte of two numbers the one of the row with the even number is in the lower half.

int64_t packed_number_floats(const NumberBlocks& numbers, const Isa& isa) {
  const int64_t columns = round_to(numbers.n, isa.lanes);
  return 2 * numbers.blocks() * columns + blocks_of(numbers.byte_rows() * columns, sizeof(float));
}

namespace {

/// Column `j` of a panel. `column` has an even number of rows.
void write_numbers(std::uint8_t* panel, const std::vector<std::uint8_t>& column, const NumberBlocks& numbers,
                   int64_t width, int64_t j) {
  const std::uint8_t* const from = column.data();
  std::uint8_t* to = panel + j;
  for (int64_t row = 0; row < numbers.byte_rows(); ++row, to += width)
    *to = numbers.bits == 4 ? static_cast<std::uint8_t>(from[2 * row] | from[2 * row + 1] << 4) : from[row];
}

}  // namespace

void pack_numbers(ThreadPool& threads, float* to, const NumberBlocks& numbers, const ReadColumn& read, const Isa& isa) {
  if (numbers.k == 0) return;  // `to` may be null then
  const int64_t blocks = numbers.blocks(), columns = round_to(numbers.n, isa.lanes);
  float *const scales = to, *const zeros = to + blocks * columns;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(to + 2 * blocks * columns);
  threads.for_range(blocks_of(numbers.n, isa.panel_columns), 1, [&](int64_t first, int64_t last) {
    std::vector<std::uint8_t> column(static_cast<std::size_t>(round_to(numbers.k, 2)));
    std::vector<float> column_scales(static_cast<std::size_t>(blocks)), column_zeros(column_scales);
    for (int64_t panel = first; panel < last; ++panel) {
      const int64_t before = panel * isa.panel_columns, width = std::min(isa.panel_columns, columns - before);
      for (int64_t j = 0; j < width; ++j) {
        if (before + j < numbers.n) {
          read(before + j, column.data(), column_scales.data(), column_zeros.data());
        } else {
          std::fill(column.begin(), column.end(), std::uint8_t{0});
          std::fill(column_scales.begin(), column_scales.end(), 0.0F);
        }
        write_numbers(bytes + before * numbers.byte_rows(), column, numbers, width, j);
        for (int64_t block = 0; block < blocks; ++block) {
          scales[before * blocks + block * width + j] = column_scales[static_cast<std::size_t>(block)];
          zeros[before * blocks + block * width + j] = column_zeros[static_cast<std::size_t>(block)];
        }
      }
    }
  });
}

namespace {

/// One task of a product, but for the table of its rows.
PanelTask product_task(const Product& product, const Division& division, const Isa& isa, int64_t index) {
  PanelTask task;
  task.first_row = index / division.column_blocks * division.block_rows;
  task.rows = std::min(division.block_rows, product.m - task.first_row);
  task.packed_b = product.packed_b;
  if (product.stored_b.from != nullptr) task.stored_b = &product.stored_b;
  task.numbers = product.numbers;
  task.by_columns =
      product.stored_b.from == nullptr && product.numbers == nullptr && is_by_columns(1, product.k, product.n, isa);
  task.k = product.k;
  task.columns = product.n;
  task.first_panel = index % division.column_blocks * division.task_panels;
  task.panels = std::min(division.task_panels, blocks_of(product.n, isa.panel_columns) - task.first_panel);
  const bool cached = task.rows * product.k <= cached_floats();
  task.panel_group = cached ? 1 : std::max<int64_t>(cached_floats() / (task.rows * isa.panel_columns), 1);
  task.c = product.c + task.first_row * product.c_stride;
  task.c_stride = product.c_stride;
  task.column_offset = 0;
  return task;
}

void run_product_task(PanelTask& task, const Product& product, const float** table, const Epilogue& epilogue,
                      const Isa& isa) {
  fill_rows(task.a, table, product.a + task.first_row * product.a_stride, product.a_stride, task.rows);
  isa.multiply(task, epilogue);
}

}  // namespace

void product(ThreadPool& threads, const Product& product, const Epilogue& epilogue, const Isa& isa) {
  if (product.m == 0 || product.n == 0) return;
  const Division division = divide(threads, isa, product.m, product.n, product.k);
  const int64_t tasks = division.row_blocks * division.column_blocks;
  const bool is_stored = product.stored_b.from != nullptr || product.numbers != nullptr;
  if (tasks == 1 && product.k <= depth_block && !is_stored) {
    const auto length = static_cast<int32_t>(product.k);
    const int32_t blocks[] = {0, 1};
    const float* table[most_block_rows];
    PanelTask task = product_task(product, division, isa, 0);
    task.a = {table, task.rows, &length, blocks, 1};
    return run_product_task(task, product, table, epilogue, isa);
  }
  const Depth depth(1, product.k);
  threads.for_range(tasks, 1, [&](int64_t first, int64_t last) {
    Table table(division.block_rows * depth.count());
    const int64_t panel_floats = is_stored ? depth_block * isa.panel_columns + line_floats : 0;
    const auto room = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(panel_floats));
    const SumsRoom sums(epilogue, depth, division.block_rows, division.task_panels, isa);
    for (int64_t index = first; index < last; ++index) {
      PanelTask task = product_task(product, division, isa, index);
      if (is_stored) task.panel = on_line(room.get());
      sums.lend(task, isa);
      task.a = row_table(table, depth, task.rows);
      run_product_task(task, product, table.get(), epilogue, isa);
    }
  });
}

}  // namespace onnxkit::cpu
