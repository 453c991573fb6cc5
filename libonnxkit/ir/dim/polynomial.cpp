#include "libonnxkit/ir/dim/polynomial.h"

#include <algorithm>
#include <numeric>

namespace onnxkit::ir {
namespace {

// Expressions may come from a hostile file: no single operation may take long.
constexpr int max_division_steps = 64;
constexpr std::size_t max_products = 1024;

bool greater_monomial(const std::vector<AtomId>& a, const std::vector<AtomId>& b) {
  if (a.size() != b.size()) return a.size() > b.size();
  return a < b;
}

std::optional<Term> multiply(const Term& a, const Term& b) {
  Term product;
  if (__builtin_mul_overflow(a.coefficient, b.coefficient, &product.coefficient)) return std::nullopt;
  product.atoms.reserve(a.atoms.size() + b.atoms.size());
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(), std::back_inserter(product.atoms));
  return product;
}

/// Brings terms in any order, with repeated monomials, into the form of a Polynomial.
std::optional<Polynomial> normalize(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return greater_monomial(a.atoms, b.atoms); });
  Polynomial result;
  for (Term& term : terms) {
    if (!result.empty() && result.back().atoms == term.atoms) {
      std::int64_t& sum = result.back().coefficient;
      if (__builtin_add_overflow(sum, term.coefficient, &sum)) return std::nullopt;
    } else {
      if (!result.empty() && result.back().coefficient == 0) result.pop_back();
      result.push_back(std::move(term));
    }
  }
  if (!result.empty() && result.back().coefficient == 0) result.pop_back();
  return result;
}

/// The exact quotient of two terms.
std::optional<Term> divide(const Term& a, const Term& b) {
  if (b.coefficient == -1 && a.coefficient == INT64_MIN) return std::nullopt;
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  if (!std::includes(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end())) return std::nullopt;
  Term quotient{a.coefficient / b.coefficient, {}};
  std::set_difference(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
                      std::back_inserter(quotient.atoms));
  return quotient;
}

}  // namespace

Polynomial constant_polynomial(std::int64_t value) {
  if (value == 0) return {};
  return {Term{value, {}}};
}

std::optional<Polynomial> add_scaled(const Polynomial& a, const Polynomial& b, std::int64_t scale) {
  if (scale == 0) return a;
  std::vector<Term> terms = a;
  terms.reserve(a.size() + b.size());
  for (const Term& term : b) {
    std::int64_t scaled = 0;
    if (__builtin_mul_overflow(term.coefficient, scale, &scaled)) return std::nullopt;
    terms.push_back({scaled, term.atoms});
  }
  return normalize(std::move(terms));
}

std::optional<Polynomial> multiply(const Polynomial& a, const Polynomial& b) {
  if (a.size() * b.size() > max_products) return std::nullopt;
  std::vector<Term> terms;
  terms.reserve(a.size() * b.size());
  for (const Term& x : a) {
    for (const Term& y : b) {
      std::optional<Term> product = multiply(x, y);
      if (!product) return std::nullopt;
      terms.push_back(std::move(*product));
    }
  }
  return normalize(std::move(terms));
}

std::optional<PolynomialDivision> divide(Polynomial dividend, const Polynomial& divisor) {
  PolynomialDivision result;
  for (int step = 0; !dividend.empty(); ++step) {
    if (step == max_division_steps) return std::nullopt;
    std::optional<Term> quotient = divide(dividend.front(), divisor.front());
    if (!quotient) {
      result.remainder.push_back(std::move(dividend.front()));
      dividend.erase(dividend.begin());
      continue;
    }
    std::optional<Polynomial> part = multiply({*quotient}, divisor);
    std::optional<Polynomial> rest = part ? add_scaled(dividend, *part, -1) : std::nullopt;
    if (!rest) return std::nullopt;
    dividend = std::move(*rest);
    result.quotient.push_back(std::move(*quotient));
  }
  return result;
}

std::optional<Polynomial> substitute(const Polynomial& p, AtomId atom, const Polynomial& replacement) {
  Polynomial result;
  for (const Term& term : p) {
    Term others{term.coefficient, {}};
    std::remove_copy(term.atoms.begin(), term.atoms.end(), std::back_inserter(others.atoms), atom);
    std::optional<Polynomial> value = Polynomial{others};
    for (std::size_t power = term.atoms.size() - others.atoms.size(); power > 0 && value; --power) {
      value = multiply(*value, replacement);
    }
    std::optional<Polynomial> sum = value ? add_scaled(result, *value, 1) : std::nullopt;
    if (!sum) return std::nullopt;
    result = std::move(*sum);
  }
  return result;
}

std::int64_t constant_part(const Polynomial& p) {
  return p.empty() || !p.back().atoms.empty() ? 0 : p.back().coefficient;
}

std::uint64_t content(const Polynomial& p) {
  std::uint64_t divisor = 0;
  for (const Term& term : p) {
    if (!term.atoms.empty()) divisor = std::gcd(divisor, magnitude(term.coefficient));
  }
  return divisor;
}

std::size_t hash_value(const Polynomial& p) {
  std::uint64_t hash = 0x9e3779b97f4a7c15U;
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32;
  };
  for (const Term& term : p) {
    mix(static_cast<std::uint64_t>(term.coefficient));
    mix(term.atoms.size());
    for (const AtomId atom : term.atoms) mix(atom);
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace onnxkit::ir
