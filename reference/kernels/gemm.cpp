#include "reference/kernels/gemm.h"

#include <algorithm>
#include <memory>
#include <new>

#include "reference/kernels/gemm_kernel.h"
#include "reference/numerics/instruction_sets.h"

namespace onnxkit::reference {
namespace {

using std::int64_t;

// A block of packed b stays in the second-level cache, one strip of it in the first.
constexpr int64_t depth_block = 256, row_block = 192, column_block = 768;
/// Up to this many rows, packing b costs more than reading it row by row.
constexpr int64_t few_rows = 3;
/// Multiplications that are worth a thread's while.
constexpr double task_products = 1 << 19;

struct FreeAligned {
  void operator()(double* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Buffer = std::unique_ptr<double[], FreeAligned>;

Buffer make_buffer(int64_t count) {
  return Buffer(
      static_cast<double*>(::operator new[](static_cast<std::size_t>(count) * sizeof(double), std::align_val_t{64})));
}

int64_t blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }
int64_t round_up(int64_t count, int64_t size) { return blocks(count, size) * size; }

template <class T>
MatrixView<T> part(MatrixView<T> whole, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  T* const data = whole.data + row * whole.row_stride + column * whole.column_stride;
  return {data, std::min(rows, whole.rows - row), std::min(columns, whole.columns - column), whole.row_stride,
          whole.column_stride};
}

/// Calls task(row, rows, column, columns) for parts of c, some for each thread. `depth` is what an element of c costs.
template <class Task>
void for_parts(ThreadPool& threads, const GemmKernel& kernel, MatrixView<double> c, int64_t depth, const Task& task) {
  int64_t rows = c.rows, columns = c.columns;
  const int64_t wanted = threads.threads() == 1 ? 1 : int64_t{4} * threads.threads();
  const auto products = [&] {
    return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  };
  while (blocks(c.rows, rows) * blocks(c.columns, columns) < wanted && products() >= 2 * task_products) {
    if (columns >= rows && columns > kernel.columns) {
      columns = round_up((columns + 1) / 2, kernel.columns);
    } else if (rows > kernel.rows) {
      rows = round_up((rows + 1) / 2, kernel.rows);
    } else {
      break;
    }
  }
  const int64_t across = blocks(c.columns, columns);
  threads.for_range(blocks(c.rows, rows) * across, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) task(i / across * rows, rows, i % across * columns, columns);
  });
}

/// `strips(k, depth, column)`: of b, packed, a block of columns and of k.
template <class Strips>
void multiply_strips(const GemmKernel& kernel, MatrixView<const double> a, const Strips& strips, MatrixView<double> c,
                     bool accumulate, const Poll& poll) {
  const int64_t most_depth = std::min(depth_block, a.columns);
  const Buffer packed_a = make_buffer(round_up(std::min(row_block, c.rows), kernel.rows) * most_depth);
  for (int64_t column = 0; column < c.columns; column += column_block) {
    int64_t k = 0;
    do {  // once even for k = 0, to write zeros
      const int64_t depth = std::min(depth_block, a.columns - k);
      const double* const packed_b = strips(k, depth, column);
      for (int64_t row = 0; row < c.rows; row += row_block) {
        if (poll) poll();
        const auto of_a = part(a, row, row_block, k, depth);
        kernel.pack_rows(packed_a.get(), of_a.data, of_a.rows, depth, of_a.row_stride, of_a.column_stride);
        kernel.multiply(packed_a.get(), packed_b, depth, part(c, row, row_block, column, column_block),
                        accumulate || k > 0);
      }
      k += depth_block;
    } while (k < a.columns);
  }
}

void multiply_blocks(const GemmKernel& kernel, MatrixView<const double> a, MatrixView<const double> b,
                     MatrixView<double> c, bool accumulate, const Poll& poll) {
  const int64_t most_columns = round_up(std::min(column_block, c.columns), kernel.columns);
  const Buffer packed = make_buffer(most_columns * std::min(depth_block, a.columns));
  const auto pack = [&](int64_t k, int64_t depth, int64_t column) -> const double* {
    const auto of_b = part(b, k, depth, column, column_block);
    kernel.pack_columns(packed.get(), of_b.data, of_b.columns, depth, of_b.column_stride, of_b.row_stride);
    return packed.get();
  };
  multiply_strips(kernel, a, pack, c, accumulate, poll);
}

/// Where the strips from `column` on, a multiple of what one has, begin in the block of k of a packed factor.
int64_t place_of_strips(const GemmKernel& kernel, int64_t columns, int64_t k, int64_t depth, int64_t column) {
  return k * round_up(columns, kernel.columns) + column * depth;
}

/// How many lines of that many elements make up some milliseconds; a multiple of what add_rows takes in one step, so that sums stay the same.
int64_t lines_between_polls(int64_t elements) {
  return round_up(std::max<int64_t>((int64_t{1} << 22) / std::max<int64_t>(elements, 1), 1), 4);
}

/// For few rows, and b in row-major or column-major order: b is read as it lies.
void multiply_rows(const GemmKernel& kernel, MatrixView<const double> a, MatrixView<const double> b,
                   MatrixView<double> c, bool accumulate, const Poll& poll) {
  const int64_t depth = a.columns;
  const int64_t depth_step = lines_between_polls(c.columns), column_step = lines_between_polls(depth);
  const Buffer of_a = make_buffer(depth), of_c = make_buffer(c.columns);
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t k = 0; k < depth; ++k) of_a[k] = a.data[i * a.row_stride + k * a.column_stride];
    double* const to = c.data + i * c.row_stride;
    for (int64_t j = 0; j < c.columns; ++j) of_c[j] = accumulate ? to[j * c.column_stride] : 0.0;
    if (b.column_stride == 1) {
      for (int64_t k = 0; k < depth; k += depth_step) {
        if (poll) poll();
        kernel.add_rows(of_a.get() + k, b.data + k * b.row_stride, b.row_stride, std::min(depth_step, depth - k),
                        of_c.get(), c.columns);
      }
    } else {
      for (int64_t j = 0; j < c.columns; ++j) {
        if (poll && j % column_step == 0) poll();
        of_c[j] += kernel.dot(of_a.get(), b.data + j * b.column_stride, depth);
      }
    }
    for (int64_t j = 0; j < c.columns; ++j) to[j * c.column_stride] = of_c[j];
  }
}

/// Integers in plain loops over blocks of b that stay in the cache.
void multiply_wrapping(ThreadPool& threads, MatrixView<const std::uint64_t> a, MatrixView<const std::uint64_t> b,
                       MatrixView<std::uint64_t> c, bool accumulate, const Poll& poll) {
  constexpr int64_t block_rows = 64, block_columns = 256;
  const int64_t grain =
      1 + (1 << 18) / std::max<int64_t>(1, std::min<int64_t>(1 << 18, b.rows) * std::min<int64_t>(1 << 18, b.columns));
  threads.for_range(c.rows, grain, [&](int64_t first, int64_t last) {
    std::uint64_t block[block_rows][block_columns];
    for (int64_t column = 0; column < c.columns; column += block_columns) {
      const int64_t columns = std::min(block_columns, c.columns - column);
      int64_t k = 0;
      do {
        const auto of_b = part(b, k, block_rows, column, block_columns);
        for (int64_t r = 0; r < of_b.rows; ++r) {
          for (int64_t j = 0; j < columns; ++j) block[r][j] = of_b.data[r * of_b.row_stride + j * of_b.column_stride];
        }
        for (int64_t i = first; i < last; ++i) {
          if (poll && i % block_rows == 0) poll();
          std::uint64_t* const to = c.data + i * c.row_stride + column * c.column_stride;
          std::uint64_t sum[block_columns] = {};
          for (int64_t r = 0; r < of_b.rows; ++r) {
            const std::uint64_t factor = a.data[i * a.row_stride + (k + r) * a.column_stride];
            for (int64_t j = 0; j < columns; ++j) sum[j] += factor * block[r][j];
          }
          for (int64_t j = 0; j < columns; ++j) {
            std::uint64_t& element = to[j * c.column_stride];
            element = accumulate || k > 0 ? element + sum[j] : sum[j];
          }
        }
        k += block_rows;
      } while (k < b.rows);
    }
  });
}

const GemmKernel& best_kernel() {
  static const GemmKernel& best = *usable_gemm_kernels().front();
  return best;
}

template <class To, class From>
MatrixView<To> as(MatrixView<From> m) {
  return {reinterpret_cast<To*>(m.data), m.rows, m.columns, m.row_stride, m.column_stride};
}

}  // namespace

std::vector<const GemmKernel*> usable_gemm_kernels() {
  std::vector<const GemmKernel*> kernels;
#if defined(__x86_64__)
  if (has_v4()) kernels.push_back(&gemm_kernel_v4);
  if (has_v3()) kernels.push_back(&gemm_kernel_v3);
#endif
  kernels.push_back(&gemm_kernel_baseline);
  return kernels;
}

void gemm(ThreadPool& threads, const GemmKernel& kernel, MatrixView<const double> a, MatrixView<const double> b,
          MatrixView<double> c, bool accumulate, const Poll& poll) {
  if (c.rows == 0 || c.columns == 0) return;
  const bool column = c.columns <= few_rows && c.rows > c.columns;
  if (column || (c.rows > few_rows && c.column_stride != 1 && c.row_stride == 1)) {
    const auto turned = a.transposed();
    a = b.transposed();
    b = turned;
    c = c.transposed();
  }
  const bool by_rows = c.rows <= few_rows && (b.row_stride == 1 || b.column_stride == 1);
  for_parts(threads, kernel, c, a.columns, [&](int64_t row, int64_t rows, int64_t first, int64_t columns) {
    const auto of_a = part(a, row, rows, 0, a.columns);
    const auto of_b = part(b, 0, b.rows, first, columns);
    (by_rows ? multiply_rows : multiply_blocks)(kernel, of_a, of_b, part(c, row, rows, first, columns), accumulate,
                                                poll);
  });
}

PackedFactor pack_factor(ThreadPool& threads, const GemmKernel& kernel, MatrixView<const double> b, PackedFactor used) {
  PackedFactor packed = std::move(used);
  packed.rows = b.rows;
  packed.columns = b.columns;
  packed.kernel = &kernel;
  const int64_t count = round_up(b.columns, kernel.columns) * b.rows;
  if (packed.capacity < count) {
    packed.numbers = nullptr;  // before there is more
    packed.numbers = make_buffer(count);
    packed.capacity = count;
  }
  const int64_t across = blocks(b.columns, column_block);
  threads.for_range(blocks(b.rows, depth_block) * across, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t k = i / across * depth_block, column = i % across * column_block;
      const auto block = part(b, k, depth_block, column, column_block);
      kernel.pack_columns(packed.numbers.get() + place_of_strips(kernel, b.columns, k, block.rows, column), block.data,
                          block.columns, block.rows, block.column_stride, block.row_stride);
    }
  });
  return packed;
}

PackedFactor pack_factor(ThreadPool& threads, MatrixView<const double> b, PackedFactor used) {
  return pack_factor(threads, best_kernel(), b, std::move(used));
}

bool reads_packed(const MatrixView<const double>& a, const MatrixView<double>& c) {
  return c.rows > few_rows && c.columns > few_rows && c.column_stride == 1 && a.columns > 0;
}

void gemm(ThreadPool& threads, MatrixView<const double> a, const PackedFactor& b, MatrixView<double> c, bool accumulate,
          const Poll& poll) {
  const GemmKernel& kernel = *b.kernel;
  for_parts(threads, kernel, c, a.columns, [&](int64_t row, int64_t rows, int64_t first, int64_t columns) {
    const auto strips = [&](int64_t k, int64_t depth, int64_t column) {
      return b.numbers.get() + place_of_strips(kernel, b.columns, k, depth, first + column);
    };
    multiply_strips(kernel, part(a, row, rows, 0, a.columns), strips, part(c, row, rows, first, columns), accumulate,
                    poll);
  });
}

void gemm_exact(ThreadPool& threads, const GemmKernel& kernel, MatrixView<const double> a, MatrixView<const double> b,
                MatrixView<double> c, bool accumulate, const Poll& poll) {
  if (c.rows == 0 || c.columns == 0) return;
  const int64_t depth = a.columns;
  // Rounding once asks for all of k in one piece, so blocks are a few strips only.
  const int64_t strips = depth > (1 << 15) ? 1 : 4;
  const int64_t most_rows = kernel.rows * strips, most_columns = kernel.columns * strips;
  for_parts(threads, kernel, c, depth * 8, [&](int64_t first_row, int64_t rows, int64_t first_column, int64_t columns) {
    const auto of_c = part(c, first_row, rows, first_column, columns);
    const Buffer packed_a = make_buffer(most_rows * depth), packed_b = make_buffer(most_columns * depth);
    for (int64_t column = 0; column < of_c.columns; column += most_columns) {
      const auto of_b = part(b, 0, depth, first_column + column, std::min(most_columns, of_c.columns - column));
      kernel.pack_columns(packed_b.get(), of_b.data, of_b.columns, depth, of_b.column_stride, of_b.row_stride);
      for (int64_t row = 0; row < of_c.rows; row += most_rows) {
        if (poll) poll();
        const auto of_a = part(a, first_row + row, std::min(most_rows, of_c.rows - row), 0, depth);
        kernel.pack_rows(packed_a.get(), of_a.data, of_a.rows, depth, of_a.row_stride, of_a.column_stride);
        kernel.multiply_exact(packed_a.get(), packed_b.get(), depth, part(of_c, row, most_rows, column, most_columns),
                              accumulate);
      }
    }
  });
}

void gemm(ThreadPool& threads, MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c,
          bool accumulate, const Poll& poll) {
  gemm(threads, best_kernel(), a, b, c, accumulate, poll);
}
void gemm_exact(ThreadPool& threads, MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c,
                bool accumulate, const Poll& poll) {
  gemm_exact(threads, best_kernel(), a, b, c, accumulate, poll);
}
void gemm(ThreadPool& threads, MatrixView<const std::int64_t> a, MatrixView<const std::int64_t> b,
          MatrixView<std::int64_t> c, bool accumulate, const Poll& poll) {
  multiply_wrapping(threads, as<const std::uint64_t>(a), as<const std::uint64_t>(b), as<std::uint64_t>(c), accumulate,
                    poll);
}
void gemm(ThreadPool& threads, MatrixView<const std::uint64_t> a, MatrixView<const std::uint64_t> b,
          MatrixView<std::uint64_t> c, bool accumulate, const Poll& poll) {
  multiply_wrapping(threads, a, b, c, accumulate, poll);
}

}  // namespace onnxkit::reference
