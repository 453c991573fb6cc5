#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace onnxkit::ir {

/// Index of an indivisible factor (a symbol, a floor division ...) in its pool.
using AtomId = std::uint32_t;

/// coefficient * atoms[0] * atoms[1] ...; no atoms: a constant.
struct Term {
  std::int64_t coefficient = 0;
  std::vector<AtomId> atoms;  ///< ascending, repeated for powers

  friend bool operator==(const Term&, const Term&) = default;
};

/// Terms of distinct monomials, greatest first (degree, then the smaller atom), without zero coefficients.
/// Equal polynomials are equal vectors. The operations give nullopt where a coefficient overflows or the work would be
/// large.
using Polynomial = std::vector<Term>;

struct PolynomialDivision {
  Polynomial quotient;
  Polynomial remainder;  ///< terms that the leading term of the divisor does not divide
};

/// |value|, also of the least integer.
inline std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

Polynomial constant_polynomial(std::int64_t value);
/// a + scale * b
std::optional<Polynomial> add_scaled(const Polynomial& a, const Polynomial& b, std::int64_t scale);
std::optional<Polynomial> multiply(const Polynomial& a, const Polynomial& b);
/// dividend = quotient * divisor + remainder with integer coefficients.
/// Precondition: divisor is not empty.
std::optional<PolynomialDivision> divide(Polynomial dividend, const Polynomial& divisor);
/// `p` with `replacement` in place of `atom`.
std::optional<Polynomial> substitute(const Polynomial& p, AtomId atom, const Polynomial& replacement);

/// The term without atoms.
std::int64_t constant_part(const Polynomial& p);
/// Greatest common divisor of the coefficients of terms with atoms; 0 when there are none.
std::uint64_t content(const Polynomial& p);
std::size_t hash_value(const Polynomial& p);

}  // namespace onnxkit::ir
