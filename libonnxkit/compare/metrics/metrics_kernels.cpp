#include "libonnxkit/compare/metrics/metrics_kernels.h"

namespace onnxkit::comparison {
namespace {

template <class Real>
Real least(Real x, Real y) {
  return y < x ? y : x;
}
template <class Real>
Real greatest_of(Real x, Real y) {
  return y > x ? y : x;
}

}  // namespace

template <class Real>
bool all_finite(const Real* a, const Real* b, std::size_t count) {
  Real sum = 0;  // NaN where x - x is not 0
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < count; ++i) sum += (a[i] - a[i]) + (b[i] - b[i]);
  return sum == 0;
}

template <class Real>
Moments<Real> moments(const Real* a, const Real* b, std::size_t count) {
  Real sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0, nonzero = 0;
  Real least_a = a[0], greatest_a = a[0], least_b = b[0], greatest_b = b[0];
#pragma omp simd reduction(+ : sum_a, sum_b, aa, bb, ab, nonzero) reduction(min : least_a, least_b) \
    reduction(max : greatest_a, greatest_b)
  for (std::size_t i = 0; i < count; ++i) {
    const Real x = a[i], y = b[i];
    sum_a += x;
    sum_b += y;
    aa += x * x;
    bb += y * y;
    ab += x * y;
    nonzero += x != 0 ? Real(1) : Real(0);
    least_a = least(least_a, x);
    greatest_a = greatest_of(greatest_a, x);
    least_b = least(least_b, y);
    greatest_b = greatest_of(greatest_b, y);
  }
  return {sum_a, sum_b, aa, bb, ab, least_a, greatest_a, least_b, greatest_b, nonzero};
}

template <class Real>
Differences<Real> differences(const Real* a, const Real* b, std::size_t count) {
  constexpr Real lift = 0x1p540;  // the product of the smallest numbers does not become 0
  Real sum = 0, absolute = 0, square = 0, greatest = 0, unequal = 0, flips = 0;
#pragma omp simd reduction(+ : sum, absolute, square, unequal, flips) reduction(max : greatest)
  for (std::size_t i = 0; i < count; ++i) {
    const Real x = a[i], y = b[i];
    const Real d = y - x, distance = std::abs(d);
    sum += d;
    absolute += distance;
    square += d * d;
    greatest = greatest_of(greatest, distance);
    unequal += x != y ? Real(1) : Real(0);
    flips += (x * lift) * (y * lift) < 0 ? Real(1) : Real(0);
  }
  return {sum, absolute, square, greatest, unequal, flips};
}

template <class Real>
Quotients<Real> quotients(const Real* a, const Real* b, std::size_t count) {
  Real sum = 0, greatest = 0;
#pragma omp simd reduction(+ : sum) reduction(max : greatest)
  for (std::size_t i = 0; i < count; ++i) {
    const Real x = a[i];
    const Real distance = x != 0 ? std::abs(b[i] - x) : Real(0);
    const Real quotient = distance / (x != 0 ? std::abs(x) : Real(1));
    sum += quotient;
    greatest = greatest_of(greatest, quotient);
  }
  return {sum, greatest};
}

template <class Real>
Centred<Real> centred(const Real* a, const Real* b, std::size_t count, const Means<Real>& means) {
  const Real mean_a = means.a, mean_b = means.b, mean_d = means.d;
  Real sum_a = 0, sum_b = 0, sum_d = 0, aa = 0, bb = 0, ad = 0, dd = 0;
#pragma omp simd reduction(+ : sum_a, sum_b, sum_d, aa, bb, ad, dd)
  for (std::size_t i = 0; i < count; ++i) {
    const Real x = a[i] - mean_a, y = b[i] - mean_b, d = (b[i] - a[i]) - mean_d;
    sum_a += x;
    sum_b += y;
    sum_d += d;
    aa += x * x;
    bb += y * y;
    ad += x * d;
    dd += d * d;
  }
  return {sum_a, sum_b, sum_d, aa, bb, ad, dd};
}

template <class Real>
Real squared_residuals(const Real* a, const Real* b, std::size_t count, const Means<Real>& means, Real slope,
                       Real shift) {
  const Real mean_a = means.a, mean_d = means.d;
  Real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < count; ++i) {
    const Real residual = ((b[i] - a[i]) - mean_d) - slope * (a[i] - mean_a) - shift;
    sum += residual * residual;
  }
  return sum;
}

#define ONNXKIT_KERNELS(Real)                                                                \
  template bool all_finite(const Real*, const Real*, std::size_t);                           \
  template Moments<Real> moments(const Real*, const Real*, std::size_t);                     \
  template Differences<Real> differences(const Real*, const Real*, std::size_t);             \
  template Quotients<Real> quotients(const Real*, const Real*, std::size_t);                 \
  template Centred<Real> centred(const Real*, const Real*, std::size_t, const Means<Real>&); \
  template Real squared_residuals(const Real*, const Real*, std::size_t, const Means<Real>&, Real, Real)
ONNXKIT_KERNELS(double);
ONNXKIT_KERNELS(long double);
#undef ONNXKIT_KERNELS

}  // namespace onnxkit::comparison
