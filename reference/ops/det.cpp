// Det: the determinants of the square matrices in the last two axes.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/executor/kernel.h"

namespace onnxkit::reference {
namespace {

/// By elimination with the greatest pivot of each column; `a` is overwritten.
double determinant(Pace& pace, double* a, std::int64_t n) {
  double result = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t row = k + 1; row < n; ++row) {
      if (std::abs(a[row * n + k]) > std::abs(a[pivot * n + k])) pivot = row;
    }
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
      result = -result;
    }
    result *= a[k * n + k];
    for (std::int64_t row = k + 1; row < n; ++row) {
      pace.advance(n - k);
      const double factor = a[row * n + k] / a[k * n + k];
      for (std::int64_t column = k; column < n; ++column) a[row * n + column] -= factor * a[k * n + column];
    }
  }
  return result;
}

void det(KernelContext& context) {
  Tensor x = context.input(0);
  require(x.rank() >= 2 && x.dim(x.rank() - 1) == x.dim(x.rank() - 2), "only square matrices have a determinant");
  const std::int64_t n = x.dim(x.rank() - 1);
  Tensor y = context.make(x.type(), Dims(x.dims().begin(), x.dims().end() - 2));
  double* const matrices = x.write<double>().data();
  double* const out = y.write<double>().data();
  context.for_range(y.size(), 1, [&](std::int64_t first, std::int64_t last) {
    Pace pace(context);
    for (std::int64_t i = first; i < last; ++i) out[i] = determinant(pace, matrices + i * n * n, n);
  });
  context.set_output(0, y);
}

}  // namespace

void register_det(KernelRegistry& registry) { registry.add("Det", all_versions(), det); }

}  // namespace onnxkit::reference
