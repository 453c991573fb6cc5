#pragma once

#include <cstdint>
#include <functional>

#include "libonnxkit/base/system/thread_pool.h"

// The contraction that MatMul, Gemm, Conv, Einsum and the recurrent operators are lowered to.
namespace onnxkit::reference {

/// A matrix in memory; element (r, c) is at data[r * row_stride + c * column_stride]. One of the strides is 1 for the fast kernels.
template <class T>
struct MatrixView {
  T* data;
  std::int64_t rows, columns;
  std::int64_t row_stride, column_stride;

  MatrixView transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

template <class T>
MatrixView<T> row_major(T* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns, 1};
}

/// Called every few milliseconds, by all threads; what it throws ends the contraction.
using Poll = std::function<void()>;

/// c = a * b, or c += a * b, in double. Blocked, on all threads of the pool, with the widest instruction set that the machine has; the
/// result does not depend on the number of threads.
void gemm(ThreadPool& threads, MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c,
          bool accumulate = false, const Poll& poll = {});
/// The same with products and sums in double-double, rounded once: for float64 models.
void gemm_exact(ThreadPool& threads, MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c,
                bool accumulate = false, const Poll& poll = {});
/// Plain loops that wrap, for integers.
void gemm(ThreadPool& threads, MatrixView<const std::int64_t> a, MatrixView<const std::int64_t> b,
          MatrixView<std::int64_t> c, bool accumulate = false, const Poll& poll = {});
void gemm(ThreadPool& threads, MatrixView<const std::uint64_t> a, MatrixView<const std::uint64_t> b,
          MatrixView<std::uint64_t> c, bool accumulate = false, const Poll& poll = {});

}  // namespace onnxkit::reference
