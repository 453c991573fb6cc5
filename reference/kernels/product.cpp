#include "reference/kernels/product.h"

#include "reference/executor/fault.h"

namespace onnxkit::reference {
namespace {

template <class T>
exec::StridedMatrix<T> strided(const MatrixView<T>& view) {
  return {view.data, view.rows, view.columns, view.row_stride, view.column_stride};
}

}  // namespace

void multiply_doubles(ThreadPool& threads, exec::ProductDevice* device, MatrixView<const double> a,
                      MatrixView<const double> b, MatrixView<double> c, bool accumulate, const Poll& poll) {
  if (device) {
    if (poll) poll();
    const auto taken = device->multiply(strided(a), strided(b), strided(c), accumulate);
    if (!taken) throw Fault(taken.error().kind, taken.error().diagnostic.code, taken.error().diagnostic.message);
    if (*taken) return;
  }
  gemm(threads, a, b, c, accumulate, poll);
}

}  // namespace onnxkit::reference
