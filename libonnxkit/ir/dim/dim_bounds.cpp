#include <algorithm>

#include "libonnxkit/ir/dim/dim_state.h"

namespace onnxkit::ir {
namespace {

constexpr std::size_t max_terms_to_substitute = 12;

/// Signs of what the atom is multiplied with, over the terms that hold it.
struct Signs {
  bool never_negative = true;
  bool never_positive = true;
};

}  // namespace

/// Bounds of the sum are the sum of the bounds, but that forgets that N and N//2 vary together: replacing the compound
/// atom by what limits it lets terms cancel.
Interval DimPool::State::bounds_of(const Polynomial& p, int substitutions) const {
  Interval sum = Interval::point(0);
  std::vector<AtomId> compounds;
  for (const Term& term : p) {
    Interval product = Interval::point(term.coefficient);
    for (const AtomId id : term.atoms) {
      product = product * atoms[id].bounds;
      if (atoms[id].kind != AtomKind::symbol) compounds.push_back(id);
    }
    sum = sum + product;
  }
  if (compounds.empty() || substitutions == 0 || p.size() > max_terms_to_substitute) return sum;
  // An atom is younger than those inside it.
  std::sort(compounds.begin(), compounds.end(), std::greater<>());
  for (const AtomId id : compounds) {
    std::optional<Interval> better;
    if (atoms[id].kind == AtomKind::positive_part) better = bounds_by_cases(p, id, substitutions - 1);
    if (atoms[id].kind == AtomKind::floor_div) better = bounds_without_floor(p, id, substitutions - 1);
    if (better) return intersection(sum, *better);
  }
  return sum;
}

/// max(x, 0) is either 0 or x.
std::optional<Interval> DimPool::State::bounds_by_cases(const Polynomial& p, AtomId atom, int substitutions) const {
  const std::optional<Polynomial> as_zero = substitute(p, atom, {});
  const std::optional<Polynomial> as_argument = substitute(p, atom, polynomial(atoms[atom].a));
  if (!as_zero || !as_argument) return std::nullopt;
  Signs signs;
  for (const Term& term : p) {
    if (!std::binary_search(term.atoms.begin(), term.atoms.end(), atom)) continue;
    Interval factor = Interval::point(term.coefficient);
    for (const AtomId id : term.atoms) {
      if (id != atom) factor = factor * atoms[id].bounds;
    }
    signs.never_negative = signs.never_negative && factor.at_least(0);
    signs.never_positive = signs.never_positive && factor.at_most(0);
  }
  const Interval zero = bounds_of(*as_zero, substitutions);
  const Interval argument = bounds_of(*as_argument, substitutions);
  Interval bounds = hull(zero, argument);
  // Where p grows with max(x, 0) it is at least either case, where it shrinks at most.
  const Interval both = intersection(zero, argument);
  if (signs.never_negative) bounds.low = both.low;
  if (signs.never_positive) bounds.high = both.high;
  return bounds;
}

/// c*(x//c) lies between x - c + 1 and x, so c*p lies between two polynomials without that floor.
std::optional<Interval> DimPool::State::bounds_without_floor(const Polynomial& p, AtomId atom,
                                                             int substitutions) const {
  if (!atoms[atom].b.is_constant()) return std::nullopt;
  const std::int64_t divisor = atoms[atom].b.constant();
  const Polynomial greatest = polynomial(atoms[atom].a);
  const std::optional<Polynomial> least = ir::add_scaled(greatest, constant_polynomial(divisor - 1), -1);
  if (!least) return std::nullopt;
  Polynomial low, high;
  for (const Term& term : p) {
    const auto count = std::count(term.atoms.begin(), term.atoms.end(), atom);
    if (count > 1) return std::nullopt;
    Term others{term.coefficient, {}};
    std::remove_copy(term.atoms.begin(), term.atoms.end(), std::back_inserter(others.atoms), atom);
    Interval factor = Interval::point(1);
    for (const AtomId id : others.atoms) factor = factor * atoms[id].bounds;
    if (count == 1 && !factor.at_least(0)) return std::nullopt;
    const bool grows = term.coefficient > 0;
    const Polynomial scale = constant_polynomial(divisor);
    const auto low_part = multiply({others}, count == 0 ? scale : (grows ? *least : greatest));
    const auto high_part = multiply({others}, count == 0 ? scale : (grows ? greatest : *least));
    const auto low_sum = low_part ? ir::add_scaled(low, *low_part, 1) : std::nullopt;
    const auto high_sum = high_part ? ir::add_scaled(high, *high_part, 1) : std::nullopt;
    if (!low_sum || !high_sum) return std::nullopt;
    low = *low_sum;
    high = *high_sum;
  }
  Interval bounds;
  if (const auto end = bounds_of(low, substitutions).low; end && *end > INT64_MIN + 1) {
    bounds.low = -floor_divide(-*end, divisor);
  }
  if (const auto end = bounds_of(high, substitutions).high) bounds.high = floor_divide(*end, divisor);
  return bounds;
}

}  // namespace onnxkit::ir
