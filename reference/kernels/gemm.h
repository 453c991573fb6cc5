#pragma once

#include <cstdint>
#include <functional>
#include <memory>

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
  bool operator==(const MatrixView&) const = default;
};

template <class T>
MatrixView<T> row_major(T* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns, 1};
}

/// Called every few milliseconds, by all threads; what it throws ends the contraction.
using Poll = std::function<void()>;

struct GemmKernel;

/// A second factor in the order in which gemm reads it, for several products.
struct PackedFactor {
  std::shared_ptr<double[]> numbers = {};
  std::int64_t capacity = 0;  ///< of `numbers`
  std::int64_t rows = 0, columns = 0;
  const GemmKernel* kernel = nullptr;  ///< that packed it
};
/// In the memory of `used` where that is enough: new pages take longer to get than to fill.
PackedFactor pack_factor(ThreadPool& threads, MatrixView<const double> b, PackedFactor used = {});
/// Whether gemm reads b in that order.
bool reads_packed(const MatrixView<const double>& a, const MatrixView<double>& c);
/// As gemm with what was packed, to the bit. Precondition: reads_packed.
void gemm(ThreadPool& threads, MatrixView<const double> a, const PackedFactor& b, MatrixView<double> c, bool accumulate,
          const Poll& poll = {});

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
