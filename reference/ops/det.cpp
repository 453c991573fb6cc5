// Det: the determinants of the square matrices in the last two axes.
#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "reference/executor/kernel.h"

namespace onnxkit::reference {
namespace {

using WideMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The greatest element of column k from row k on, the first of several; NaN only where it comes first.
Eigen::Index det_pivot(const WideMatrix& a, Eigen::Index k) {
  Eigen::Index pivot = k;
  for (Eigen::Index row = k + 1; row < a.rows(); ++row) {
    if (std::abs(a(row, k)) > std::abs(a(pivot, k))) pivot = row;
  }
  return pivot;
}

/// By LU decomposition with partial pivoting in long double; `a` is overwritten. Column by column rather than by Eigen::PartialPivLU, which cannot be
/// cancelled and takes minutes for thousands of rows.
double determinant(Pace& pace, WideMatrix& a) {
  const Eigen::Index n = a.rows();
  long double result = 1;
  for (Eigen::Index k = 0; k < n; ++k) {
    const Eigen::Index pivot = det_pivot(a, k);
    if (a(pivot, k) == 0) return 0;
    if (pivot != k) {
      a.row(k).swap(a.row(pivot));
      result = -result;
    }
    result *= a(k, k);
    const auto upper = a.row(k).tail(n - k - 1);
    for (Eigen::Index row = k + 1; row < n; ++row) {
      pace.advance(n - k);
      a.row(row).tail(n - k - 1) -= a(row, k) / a(k, k) * upper;
    }
  }
  return static_cast<double>(result);
}

void det(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() >= 2 && x.dim(x.rank() - 1) == x.dim(x.rank() - 2), "only square matrices have a determinant");
  const std::int64_t n = x.dim(x.rank() - 1);
  Tensor y = context.make(x.type(), Dims(x.dims().begin(), x.dims().end() - 2));
  const double* const matrices = x.as<double>().data();
  double* const out = y.write<double>().data();
  context.for_range(y.size(), 1, [&](std::int64_t first, std::int64_t last) {
    Pace pace(context);
    Reservation reservation(context.memory());
    reservation.take(sizeof(long double) * static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n));
    for (std::int64_t i = first; i < last; ++i) {
      WideMatrix a = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
                         matrices + i * n * n, n, n)
                         .cast<long double>();
      out[i] = determinant(pace, a);
    }
  });
  context.set_output(0, y);
}

}  // namespace

void register_det(KernelRegistry& registry) { registry.add("Det", all_versions(), det, {.noise = noise::terms}); }

}  // namespace onnxkit::reference
