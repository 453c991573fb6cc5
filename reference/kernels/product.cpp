#include "reference/kernels/product.h"

#include "reference/executor/fault.h"

namespace onnxkit::reference {
namespace {

template <class T>
exec::StridedMatrix<T> strided(const MatrixView<T>& view) {
  return {view.data, view.rows, view.columns, view.row_stride, view.column_stride};
}

}  // namespace

void multiply_doubles(const Multiplier& with, MatrixView<const double> a, MatrixView<const double> b,
                      MatrixView<double> c, bool accumulate) {
  if (with.device) {
    if (with.poll) with.poll();
    const auto token = with.shared ? with.shared->token(b) : nullptr;
    const auto taken = with.device->multiply(strided(a), strided(b), strided(c), accumulate, token);
    if (!taken) throw Fault(taken.error().kind, taken.error().diagnostic.code, taken.error().diagnostic.message);
    if (*taken) return;
  }
  const PackedFactor* const packed = with.shared && reads_packed(a, c) ? with.shared->packed(with.threads, b) : nullptr;
  if (packed) return gemm(with.threads, a, *packed, c, accumulate, with.poll);
  gemm(with.threads, a, b, c, accumulate, with.poll);
}

}  // namespace onnxkit::reference
