#pragma once

#include <cmath>
#include <cstddef>

// Plain loops over pairs of numbers, as double or long double: what compare needs of a block, finite but where said. They are made for vector code; sums
// are long lived elsewhere, in Sum.
namespace onnxkit::comparison {

/// A sum that keeps what rounding would lose (Neumaier's).
template <class Real>
class Sum {
 public:
  void add(Real x) {
    const Real sum = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
    sum_ = sum;
  }
  void add(const Sum& other) {
    add(other.sum_);
    lost_ += other.lost_;
  }
  Real value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  Real sum_ = 0, lost_ = 0;
};

/// Of numbers that need not be.
template <class Real>
bool all_finite(const Real* a, const Real* b, std::size_t count);

template <class Real>
struct Moments {
  Real a = 0, b = 0, aa = 0, bb = 0, ab = 0;  ///< sums
  Real least_a = 0, greatest_a = 0, least_b = 0, greatest_b = 0;
  Real nonzero_a = 0;  ///< a count
};
template <class Real>
Moments<Real> moments(const Real* a, const Real* b, std::size_t count);

/// Of d = b - a.
template <class Real>
struct Differences {
  Real sum = 0, absolute = 0, square = 0, greatest = 0;
  Real unequal = 0, sign_flips = 0;  ///< counts; as double that of flips is right for numbers up to 2^480
};
template <class Real>
Differences<Real> differences(const Real* a, const Real* b, std::size_t count);

/// Of |b - a| / |a| where a is not 0.
template <class Real>
struct Quotients {
  Real sum = 0, greatest = 0;
};
template <class Real>
Quotients<Real> quotients(const Real* a, const Real* b, std::size_t count);

/// Rounded means; what they lack is made up for by sums around them.
template <class Real>
struct Means {
  Real a = 0, b = 0, d = 0;
};

/// Sums of what a, b and d are beyond their means, and of products of these.
template <class Real>
struct Centred {
  Real a = 0, b = 0, d = 0, aa = 0, bb = 0, ad = 0, dd = 0;
};
template <class Real>
Centred<Real> centred(const Real* a, const Real* b, std::size_t count, const Means<Real>& means);

/// Sum of (d - mean d - slope (a - mean a) - shift)^2.
template <class Real>
Real squared_residuals(const Real* a, const Real* b, std::size_t count, const Means<Real>& means, Real slope,
                       Real shift);

}  // namespace onnxkit::comparison
