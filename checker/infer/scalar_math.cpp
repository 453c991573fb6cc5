#include "checker/infer/scalar_math.h"

#include <cmath>
#include <optional>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::checker {
namespace {

/// numerator / denominator, exact; the form in which reals that contain symbols are computed.
struct Ratio {
  Dim numerator;
  std::int64_t denominator = 1;
};

/// Binary fractions of small size are exact ratios; all other reals are not taken as such.
std::optional<Ratio> ratio_of(const Scalar& a) {
  if (a.is_integer()) return Ratio{a.dim(), 1};
  if (a.is_ratio()) return Ratio{a.numerator(), a.denominator()};
  const auto real = a.constant_real();
  if (!real) return std::nullopt;
  constexpr double largest = 1e9;
  for (std::int64_t denominator = 1; denominator <= 4096; denominator *= 2) {
    const double scaled = *real * static_cast<double>(denominator);
    if (std::abs(scaled) > largest) return std::nullopt;
    if (scaled == std::floor(scaled)) return Ratio{Dim(static_cast<std::int64_t>(scaled)), denominator};
  }
  return std::nullopt;
}

Scalar from_ratio(DimPool& dims, Ratio ratio) {
  if (ratio.numerator.is_unknown()) return {};
  if (ratio.numerator.is_constant()) {
    return Scalar::real(static_cast<double>(ratio.numerator.constant()) / static_cast<double>(ratio.denominator));
  }
  if (const auto whole = dims.exact_div(ratio.numerator, ratio.denominator)) return Scalar::ratio(*whole, 1);
  return Scalar::ratio(ratio.numerator, ratio.denominator);
}

Scalar boolean(bool value) { return Scalar::integer(value ? 1 : 0); }

/// Unknown when the type cannot hold it and thus wraps.
Scalar integer_of(Dim value, ElementType type) {
  const bool wraps = value.is_constant() && (value.constant() < least_of(type) || value.constant() > greatest_of(type));
  return wraps ? Scalar() : Scalar::integer(value);
}

using RatioOperation = std::optional<Ratio> (*)(DimPool&, const Ratio&, const Ratio&);

/// Both integers: `on_integers`. Both constants: `on_reals`. Else exact ratios.
template <class OnIntegers, class OnReals>
Scalar arithmetic(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type, OnIntegers&& on_integers,
                  OnReals&& on_reals, RatioOperation on_ratios) {
  if (a.is_unknown() || b.is_unknown()) return {};
  if (is_integer(type)) return integer_of(on_integers(a.dim(), b.dim()), type);
  const auto x = a.constant_real();
  const auto y = b.constant_real();
  if (x && y) return Scalar::real(round_to(type, on_reals(*x, *y)));
  const auto p = ratio_of(a);
  const auto q = ratio_of(b);
  if (!p || !q) return {};
  const auto result = on_ratios(dims, *p, *q);
  return result ? from_ratio(dims, *result) : Scalar();
}

std::optional<Ratio> add_ratios(DimPool& dims, const Ratio& p, const Ratio& q) {
  const auto denominator = checked_mul(p.denominator, q.denominator);
  if (!denominator) return std::nullopt;
  return Ratio{dims.add(dims.mul(p.numerator, q.denominator), dims.mul(q.numerator, p.denominator)), *denominator};
}

std::optional<Ratio> sub_ratios(DimPool& dims, const Ratio& p, const Ratio& q) {
  return add_ratios(dims, p, {dims.mul(q.numerator, -1), q.denominator});
}

std::optional<Ratio> mul_ratios(DimPool& dims, const Ratio& p, const Ratio& q) {
  const auto denominator = checked_mul(p.denominator, q.denominator);
  if (!denominator) return std::nullopt;
  return Ratio{dims.mul(p.numerator, q.numerator), *denominator};
}

std::optional<Ratio> div_ratios(DimPool& dims, const Ratio& p, const Ratio& q) {
  if (const auto whole = dims.exact_div(dims.mul(p.numerator, q.denominator), dims.mul(q.numerator, p.denominator))) {
    return Ratio{*whole, 1};
  }
  if (!q.numerator.is_constant() || q.numerator.constant() <= 0) return std::nullopt;
  return mul_ratios(dims, p, {Dim(q.denominator), q.numerator.constant()});
}

/// Sign of a - b where it is the same for all values of the symbols.
std::optional<int> compare(DimPool& dims, const Scalar& a, const Scalar& b) {
  const auto x = a.constant_real();
  const auto y = b.constant_real();
  if (a.dim().is_constant() && b.dim().is_constant()) {
    return a.dim().constant() < b.dim().constant() ? -1 : a.dim().constant() > b.dim().constant() ? 1 : 0;
  }
  if (x && y) {
    if (std::isnan(*x) || std::isnan(*y)) return std::nullopt;
    return *x < *y ? -1 : *x > *y ? 1 : 0;
  }
  const auto p = ratio_of(a);
  const auto q = ratio_of(b);
  if (!p || !q) return std::nullopt;
  const Dim left = dims.mul(p->numerator, q->denominator);
  const Dim right = dims.mul(q->numerator, p->denominator);
  if (left.is_unknown() || right.is_unknown()) return std::nullopt;
  if (left == right) return 0;
  if (dims.always_at_least(left, dims.add(right, 1))) return 1;
  if (dims.always_at_least(right, dims.add(left, 1))) return -1;
  return std::nullopt;
}

bool never_equal(DimPool& dims, const Scalar& a, const Scalar& b) {
  return a.is_integer() && b.is_integer() && dims.never_equal(a.dim(), b.dim());
}

}  // namespace

Scalar scalar_add(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type) {
  return arithmetic(
      dims, a, b, type, [&](Dim x, Dim y) { return dims.add(x, y); }, [](double x, double y) { return x + y; },
      add_ratios);
}

Scalar scalar_sub(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type) {
  return arithmetic(
      dims, a, b, type, [&](Dim x, Dim y) { return dims.sub(x, y); }, [](double x, double y) { return x - y; },
      sub_ratios);
}

Scalar scalar_mul(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type) {
  const auto is_zero = [](const Scalar& s) { return s.dim().is(0); };
  if (is_integer(type) && (is_zero(a) || is_zero(b))) return Scalar::integer(0);
  return arithmetic(
      dims, a, b, type, [&](Dim x, Dim y) { return dims.mul(x, y); }, [](double x, double y) { return x * y; },
      mul_ratios);
}

Scalar scalar_div(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type) {
  const auto truncated = [&](Dim x, Dim y) -> Dim {
    if (x.is_constant() && y.is_constant()) {
      const bool overflows = y.constant() == -1 && !checked_sub<std::int64_t>(0, x.constant());
      return y.is(0) || overflows ? Dim() : Dim(x.constant() / y.constant());
    }
    if (const auto exact = dims.exact_div(x, y)) return *exact;
    return dims.always_at_least(x, 0) && dims.always_at_least(y, 1) ? dims.floor_div(x, y) : Dim();
  };
  return arithmetic(
      dims, a, b, type, truncated, [](double x, double y) { return x / y; }, div_ratios);
}

Scalar scalar_mod(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type) {
  if (!is_integer(type) || b.dim().is(0)) return {};
  return Scalar::integer(dims.mod(a.dim(), b.dim()));
}

Scalar scalar_pow(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type) {
  const auto x = a.constant_real();
  const auto y = b.constant_real();
  if (!x || !y) {
    return y && *y == 2 ? scalar_mul(dims, a, a, type) : y && *y == 1 ? a : Scalar();
  }
  const double power = std::pow(*x, *y);
  if (!is_integer(type)) return Scalar::real(round_to(type, power));
  constexpr double exact_limit = 9007199254740992.0;
  const bool exact = std::abs(power) < exact_limit && power == std::floor(power);
  return exact ? integer_of(static_cast<std::int64_t>(power), type) : Scalar();
}

Scalar scalar_min(DimPool& dims, const Scalar& a, const Scalar& b, ElementType) {
  if (const auto order = compare(dims, a, b)) return *order <= 0 ? a : b;
  return a.is_integer() && b.is_integer() ? Scalar::integer(dims.min(a.dim(), b.dim())) : Scalar();
}

Scalar scalar_max(DimPool& dims, const Scalar& a, const Scalar& b, ElementType) {
  if (const auto order = compare(dims, a, b)) return *order >= 0 ? a : b;
  return a.is_integer() && b.is_integer() ? Scalar::integer(dims.max(a.dim(), b.dim())) : Scalar();
}

Scalar scalar_equal(DimPool& dims, const Scalar& a, const Scalar& b, ElementType) {
  if (const auto order = compare(dims, a, b)) return boolean(*order == 0);
  return never_equal(dims, a, b) ? boolean(false) : Scalar();
}

Scalar scalar_less(DimPool& dims, const Scalar& a, const Scalar& b, ElementType) {
  if (const auto order = compare(dims, a, b)) return boolean(*order < 0);
  return a.is_integer() && b.is_integer() && dims.always_at_least(a.dim(), b.dim()) ? boolean(false) : Scalar();
}

Scalar scalar_greater(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type) {
  return scalar_less(dims, b, a, type);
}

Scalar scalar_less_or_equal(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type) {
  return scalar_not(dims, scalar_less(dims, b, a, type), type);
}

Scalar scalar_greater_or_equal(DimPool& dims, const Scalar& a, const Scalar& b, ElementType type) {
  return scalar_not(dims, scalar_less(dims, a, b, type), type);
}

Scalar scalar_and(DimPool&, const Scalar& a, const Scalar& b, ElementType) {
  if (a.dim().is(0) || b.dim().is(0)) return boolean(false);
  return a.dim().is_constant() && b.dim().is_constant() ? boolean(true) : Scalar();
}

Scalar scalar_or(DimPool&, const Scalar& a, const Scalar& b, ElementType) {
  const auto is_true = [](const Scalar& s) { return s.dim().is_constant() && !s.dim().is(0); };
  if (is_true(a) || is_true(b)) return boolean(true);
  return a.dim().is(0) && b.dim().is(0) ? boolean(false) : Scalar();
}

Scalar scalar_xor(DimPool&, const Scalar& a, const Scalar& b, ElementType) {
  if (!a.dim().is_constant() || !b.dim().is_constant()) return {};
  return boolean(a.dim().is(0) != b.dim().is(0));
}

Scalar scalar_neg(DimPool& dims, const Scalar& a, ElementType type) {
  return scalar_mul(dims, a, Scalar::integer(-1), type);
}

Scalar scalar_abs(DimPool& dims, const Scalar& a, ElementType type) {
  const auto order = compare(dims, a, Scalar::integer(0));
  if (order) return *order >= 0 ? a : scalar_neg(dims, a, type);
  return a.is_integer() && dims.always_at_least(a.dim(), 0) ? a : Scalar();
}

Scalar scalar_floor(DimPool& dims, const Scalar& a, ElementType) {
  if (a.is_ratio()) return Scalar::ratio(dims.floor_div(a.numerator(), a.denominator()), 1);
  const auto real = a.constant_real();
  return real ? Scalar::real(std::floor(*real)) : Scalar();
}

Scalar scalar_ceil(DimPool& dims, const Scalar& a, ElementType) {
  if (a.is_ratio()) return Scalar::ratio(dims.ceil_div(a.numerator(), a.denominator()), 1);
  const auto real = a.constant_real();
  return real ? Scalar::real(std::ceil(*real)) : Scalar();
}

Scalar scalar_round(DimPool&, const Scalar& a, ElementType) {
  if (a.is_ratio()) return a.denominator() == 1 ? a : Scalar();
  const auto real = a.constant_real();
  return real ? Scalar::real(std::nearbyint(*real)) : Scalar();
}

Scalar scalar_sqrt(DimPool&, const Scalar& a, ElementType type) {
  const auto real = a.constant_real();
  return real && *real >= 0 ? Scalar::real(round_to(type, std::sqrt(*real))) : Scalar();
}

Scalar scalar_not(DimPool&, const Scalar& a, ElementType) {
  return a.dim().is_constant() ? boolean(a.dim().is(0)) : Scalar();
}

Scalar scalar_sign(DimPool& dims, const Scalar& a, ElementType type) {
  const auto order = compare(dims, a, Scalar::integer(0));
  if (!order) return {};
  return is_integer(type) ? Scalar::integer(*order) : Scalar::real(*order);
}

}  // namespace onnxkit::checker
