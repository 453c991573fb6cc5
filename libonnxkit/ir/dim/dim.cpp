#include "libonnxkit/ir/dim/dim.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "libonnxkit/ir/dim/dim_state.h"

namespace onnxkit::ir {
namespace {

// Expressions of real models stay far below; more only costs time, and a file may ask for it.
constexpr std::size_t max_terms = 32;
constexpr std::size_t max_degree = 12;
constexpr int max_depth = 16;
constexpr int max_size = 512;

Interval atom_bounds(AtomKind kind, const Interval& a, const Interval& b) {
  switch (kind) {
    case AtomKind::symbol:
      break;
    case AtomKind::floor_div:
      return floor_divide(a, intersection(b, {1, {}}));
    case AtomKind::positive_part:
      return positive_part(a);
    case AtomKind::broadcast:
      return hull(a, b);
  }
  return {};
}

}  // namespace

std::size_t DimPool::State::AtomHash::operator()(const AtomKey& key) const {
  const auto code = [](Dim d) { return static_cast<std::uint64_t>(d.value_) * 2 + (d.is_constant() ? 1 : 0); };
  std::uint64_t hash = static_cast<std::uint64_t>(key.kind) + 1;
  for (const std::uint64_t part : {code(key.a), code(key.b)}) hash = (hash ^ part) * 0xff51afd7ed558ccdU;
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

Polynomial DimPool::State::polynomial(Dim d) const {
  return d.is_constant() ? constant_polynomial(d.constant()) : expression_of(d).polynomial;
}

Interval DimPool::State::bounds(Dim d) const {
  return d.is_constant() ? Interval::point(d.constant()) : expression_of(d).bounds;
}

int DimPool::State::depth(Dim d) const { return d.is_constant() ? 0 : expression_of(d).depth; }
int DimPool::State::size(Dim d) const { return d.is_constant() ? 1 : expression_of(d).size; }

Dim DimPool::State::intern(const Polynomial& p) {
  if (p.empty()) return 0;
  if (p.front().atoms.empty()) return p.front().coefficient;
  if (p.size() > max_terms || p.front().atoms.size() > max_degree) return {};
  const std::size_t hash = hash_value(p);
  const auto [begin, end] = expression_ids.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (expressions[static_cast<std::size_t>(it->second)].polynomial == p) return Dim::expression(it->second);
  }
  Expression expression{p, {}, 0, 0};
  for (const Term& term : p) {
    ++expression.size;
    for (const AtomId id : term.atoms) {
      expression.size += atoms[id].size;
      expression.depth = std::max(expression.depth, atoms[id].depth);
      if (expression.size > max_size) return {};
    }
  }
  constexpr int substitutions = 3;
  expression.bounds = bounds_of(p, substitutions);
  const auto id = static_cast<std::int64_t>(expressions.size());
  expressions.push_back(std::move(expression));
  expression_ids.emplace(hash, id);
  return Dim::expression(id);
}

Dim DimPool::State::atom(AtomKind kind, Dim a, Dim b) {
  const auto [it, is_new] = atom_ids.try_emplace(AtomKey{kind, a, b}, static_cast<AtomId>(atoms.size()));
  if (is_new) {
    Atom atom{kind, a, b, 0, {}, 1 + std::max(depth(a), depth(b)), 1 + size(a) + size(b)};
    if (atom.depth > max_depth || atom.size > max_size) {
      atom_ids.erase(it);
      return {};
    }
    atom.bounds = atom_bounds(kind, bounds(a), bounds(b));
    atoms.push_back(atom);
  }
  return intern(Polynomial{Term{1, {it->second}}});
}

Dim DimPool::State::add_symbol(Symbol symbol) {
  Atom atom;
  atom.symbol = symbols.size();
  if (symbol.non_negative) atom.bounds.low = 0;
  symbols.push_back(std::move(symbol));
  atoms.push_back(atom);
  return intern(Polynomial{Term{1, {static_cast<AtomId>(atoms.size() - 1)}}});
}

Dim DimPool::State::add_scaled(Dim a, Dim b, std::int64_t scale) {
  if (a.is_unknown() || b.is_unknown()) return {};
  if (b.is(0)) return a;
  if (a.is_constant() && b.is_constant()) {
    std::int64_t scaled = 0, sum = 0;
    if (__builtin_mul_overflow(b.constant(), scale, &scaled)) return {};
    return __builtin_add_overflow(a.constant(), scaled, &sum) ? Dim() : Dim(sum);
  }
  if (a == b && scale == -1) return 0;
  if (a.is(0) && scale == 1) return b;
  return intern(ir::add_scaled(polynomial(a), polynomial(b), scale));
}

Dim DimPool::State::mul(Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown()) return {};
  if (a.is(0) || b.is(0)) return 0;
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  return intern(multiply(polynomial(a), polynomial(b)));
}

bool DimPool::State::never_equal(Dim a, Dim b) {
  const Dim difference = add_scaled(a, b, -1);
  if (difference.is_unknown()) return false;
  if (difference.is_constant()) return difference.constant() != 0;
  const Interval range = bounds(difference);
  if (range.at_least(1) || range.at_most(-1)) return true;
  const Polynomial& p = expression_of(difference).polynomial;
  const auto divisor = static_cast<std::int64_t>(content(p));  // 2*N is never 2*M + 1
  return divisor > 1 && constant_part(p) % divisor != 0;
}

std::optional<Dim> DimPool::State::exact_div(Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown() || b.is(0)) return std::nullopt;
  if (b.is(1)) return a;
  const std::optional<PolynomialDivision> division = divide(polynomial(a), polynomial(b));
  if (!division || !division->remainder.empty()) return std::nullopt;
  const Dim quotient = intern(division->quotient);
  return quotient.is_unknown() ? std::nullopt : std::optional(quotient);
}

Dim DimPool::State::floor_div(Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown() || b.is(0)) return {};
  if (b.is_constant()) {
    if (b.constant() > 0) return floor_div_constant(a, b.constant());
    return floor_div(add_scaled(0, a, -1), add_scaled(0, b, -1));
  }
  if (a.is(0)) return 0;
  if (const std::optional<Dim> quotient = exact_div(a, b)) return *quotient;
  if (bounds(b).at_most(-1)) return floor_div(add_scaled(0, a, -1), add_scaled(0, b, -1));
  // A size that something is divided by is not 0.
  if (!bounds(b).at_least(0)) return {};
  return floor_div_expression(a, b);
}

/// The terms that the divisor divides leave the division; what remains is brought to one form.
Dim DimPool::State::floor_div_constant(Dim a, std::int64_t divisor) {
  if (divisor == 1) return a;
  if (a.is_constant()) return floor_divide(a.constant(), divisor);
  Polynomial quotient, rest;
  for (const Term& term : expression_of(a).polynomial) {
    if (term.coefficient % divisor == 0) {
      quotient.push_back({term.coefficient / divisor, term.atoms});
    } else if (term.atoms.empty()) {
      const std::int64_t whole = floor_divide(term.coefficient, divisor);
      if (whole != 0) quotient.push_back({whole, {}});
      const std::int64_t over = term.coefficient % divisor;
      rest.push_back({over < 0 ? over + divisor : over, {}});
    } else {
      rest.push_back(term);
    }
  }
  return add_scaled(floor_div_remainder(std::move(rest), divisor), intern(quotient), 1);
}

/// `p` has no term that the divisor divides, and its constant part lies in [0, divisor).
Dim DimPool::State::floor_div_remainder(Polynomial p, std::int64_t divisor) {
  if (p.empty() || p.front().atoms.empty()) return 0;
  const auto common = static_cast<std::int64_t>(std::gcd(content(p), static_cast<std::uint64_t>(divisor)));
  if (common > 1) {
    // floor((g*x + r) / (g*c)) = floor((x + floor(r/g)) / c)
    for (Term& term : p) term.coefficient /= common;
    if (p.back().coefficient == 0) p.pop_back();
    divisor /= common;
  }
  if (p.front().coefficient < 0) {
    // One of floor(p/c) and ceil(p/c) suffices: floor(p/c) = -floor((c - 1 - p) / c).
    const Dim mirrored = intern(ir::add_scaled(constant_polynomial(divisor - 1), p, -1));
    return add_scaled(0, floor_div(mirrored, divisor), -1);
  }
  const Term& lead = p.front();
  const bool only_one_atom = lead.coefficient == 1 && lead.atoms.size() == 1 && (p.size() == 1 || p[1].atoms.empty());
  if (only_one_atom) {
    const Atom& inner = atoms[lead.atoms.front()];
    std::int64_t product = 0, shift = 0;
    if (inner.kind == AtomKind::floor_div && inner.b.is_constant() &&
        !__builtin_mul_overflow(inner.b.constant(), divisor, &product) &&
        !__builtin_mul_overflow(inner.b.constant(), constant_part(p), &shift)) {
      // (x//c + r)//d = (x + c*r)//(c*d)
      return floor_div(add_scaled(inner.a, shift, 1), product);
    }
  }
  const Dim dividend = intern(p);
  if (dividend.is_unknown()) return {};
  const Interval range = floor_divide(bounds(dividend), Interval::point(divisor));
  if (range.low && range.low == range.high) return *range.low;
  return atom(AtomKind::floor_div, dividend, divisor);
}

/// `b` is at least 1 and does not divide `a` exactly.
Dim DimPool::State::floor_div_expression(Dim a, Dim b) {
  std::optional<PolynomialDivision> division = divide(polynomial(a), polynomial(b));
  if (!division) return {};
  const Dim quotient = intern(division->quotient);
  const Dim rest = intern(division->remainder);
  if (quotient.is_unknown() || rest.is_unknown()) return {};
  const Dim distance = add_scaled(b, rest, -1);
  if (bounds(rest).at_least(0) && !distance.is_unknown() && bounds(distance).at_least(1)) return quotient;
  return add_scaled(atom(AtomKind::floor_div, rest, b), quotient, 1);
}

Dim DimPool::State::positive_part(Dim a) {
  if (a.is_unknown()) return {};
  if (a.is_constant()) return std::max<std::int64_t>(a.constant(), 0);
  if (bounds(a).at_least(0)) return a;
  if (bounds(a).at_most(0)) return 0;
  const Polynomial p = expression_of(a).polynomial;
  const std::uint64_t common = std::gcd(content(p), magnitude(constant_part(p)));
  if (common > 1 && common <= INT64_MAX) {
    const auto factor = static_cast<std::int64_t>(common);
    return mul(positive_part(*exact_div(a, factor)), factor);
  }
  // One of max(p, 0) and max(-p, 0) suffices: max(p, 0) = p + max(-p, 0).
  if (p.front().coefficient < 0) return add_scaled(a, positive_part_of_sum(add_scaled(0, a, -1)), 1);
  return positive_part_of_sum(a);
}

/// max(r + max(x, 0), 0) = max(r + x, 0) where r is never positive, and max(r, 0) where r + x is not.
Dim DimPool::State::positive_part_of_sum(Dim a) {
  if (a.is_unknown()) return {};
  for (const Term& term : expression_of(a).polynomial) {
    if (term.coefficient != 1 || term.atoms.size() != 1) continue;
    const Atom& inner = atoms[term.atoms.front()];
    if (inner.kind != AtomKind::positive_part) continue;
    const Dim rest = intern(ir::add_scaled(polynomial(a), Polynomial{term}, -1));
    const Dim sum = add_scaled(rest, inner.a, 1);
    if (!rest.is_unknown() && bounds(rest).at_most(0)) return positive_part(sum);
    if (!sum.is_unknown() && bounds(sum).at_most(0)) return positive_part(rest);
  }
  return atom(AtomKind::positive_part, a, 0);
}

void DimPool::State::collect_broadcast(Dim a, std::vector<Dim>& found) const {
  if (const Atom* atom = only_atom(a); atom && atom->kind == AtomKind::broadcast) {
    collect_broadcast(atom->a, found);
    collect_broadcast(atom->b, found);
  } else if (std::find(found.begin(), found.end(), a) == found.end()) {
    found.push_back(a);
  }
}

bool DimPool::State::is_cut_off(Dim b, Dim a) {
  const Atom* cut = only_atom(add_scaled(a, b, -1));
  if (!cut || cut->kind != AtomKind::positive_part) return false;
  const Dim limit = add_scaled(a, cut->a, -1);
  return !limit.is_unknown() && bounds(limit).at_least(1);
}

Dim DimPool::State::broadcast(Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown()) return {};
  std::vector<Dim> sizes;
  collect_broadcast(a, sizes);
  collect_broadcast(b, sizes);
  const std::vector<Dim> all = sizes;
  std::erase_if(sizes, [&](Dim d) {
    return d.is(1) ||
           std::any_of(all.begin(), all.end(), [&](Dim other) { return other != d && is_cut_off(d, other); });
  });
  std::sort(sizes.begin(), sizes.end(), [](Dim x, Dim y) { return x.value_ < y.value_; });
  const auto constants = std::count_if(sizes.begin(), sizes.end(), [](Dim d) { return d.is_constant(); });
  if (constants > 1) return {};
  Dim result = 1;
  for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) {
    // A size that cannot be 1 decides: the others are 1 or equal to it.
    if (it->is_constant() || never_equal(*it, 1)) return *it;
    result = it == sizes.rbegin() ? *it : atom(AtomKind::broadcast, *it, result);
    if (result.is_unknown()) return {};
  }
  return result;
}

const Atom* DimPool::State::only_atom(Dim d) const {
  if (!d.is_expression()) return nullptr;
  const Polynomial& p = expression_of(d).polynomial;
  const bool is_atom = p.size() == 1 && p[0].coefficient == 1 && p[0].atoms.size() == 1;
  return is_atom ? &atoms[p[0].atoms[0]] : nullptr;
}

void DimPool::State::collect_symbols(Dim d, std::vector<std::size_t>& found) const {
  if (!d.is_expression()) return;
  for (const Term& term : expression_of(d).polynomial) {
    for (const AtomId id : term.atoms) {
      const Atom& atom = atoms[id];
      if (atom.kind != AtomKind::symbol) {
        collect_symbols(atom.a, found);
        collect_symbols(atom.b, found);
      } else if (std::find(found.begin(), found.end(), atom.symbol) == found.end()) {
        found.push_back(atom.symbol);
      }
    }
  }
}

std::optional<std::int64_t> DimPool::State::evaluate(const Atom& atom, const ValueOf& value_of) const {
  if (atom.kind == AtomKind::symbol) return value_of(symbols[atom.symbol].name);
  const std::optional<std::int64_t> a = evaluate(atom.a, value_of), b = evaluate(atom.b, value_of);
  if (!a || !b) return std::nullopt;
  if (atom.kind == AtomKind::positive_part) return std::max<std::int64_t>(*a, 0);
  if (atom.kind == AtomKind::broadcast) {
    if (*a == 1 || *b == 1) return *a == 1 ? b : a;
    return a == b ? a : std::nullopt;
  }
  return *b > 0 ? std::optional(floor_divide(*a, *b)) : std::nullopt;
}

std::optional<std::int64_t> DimPool::State::evaluate(Dim d, const ValueOf& value_of) const {
  if (d.is_constant()) return d.constant();
  std::int64_t sum = 0;
  for (const Term& term : expression_of(d).polynomial) {
    std::int64_t product = term.coefficient;
    for (const AtomId id : term.atoms) {
      const std::optional<std::int64_t> factor = evaluate(atoms[id], value_of);
      if (!factor || __builtin_mul_overflow(product, *factor, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

Dim DimPool::State::with_increment(AtomId id) {
  const Atom atom = atoms[id];
  if (atom.kind == AtomKind::symbol) {
    const Dim same = intern(Polynomial{Term{1, {id}}});
    return symbols[atom.symbol].non_negative ? add_scaled(same, 1, 1) : same;
  }
  const Dim a = with_increments(atom.a), b = with_increments(atom.b);
  if (atom.kind == AtomKind::positive_part) return a.is_unknown() ? a : positive_part(a);
  return atom.kind == AtomKind::broadcast ? broadcast(a, b) : floor_div(a, b);
}

Dim DimPool::State::with_increments(Dim d) {
  if (!d.is_expression()) return d;
  Dim sum = 0;
  const Polynomial terms = expression_of(d).polynomial;
  for (const Term& term : terms) {
    Dim product = term.coefficient;
    for (const AtomId id : term.atoms) product = mul(product, with_increment(id));
    sum = add_scaled(sum, product, 1);
  }
  return sum;
}

DimPool::DimPool() : state_(std::make_unique<State>()) {}
DimPool::~DimPool() = default;
DimPool::DimPool(DimPool&&) noexcept = default;
DimPool& DimPool::operator=(DimPool&&) noexcept = default;

Dim DimPool::named(std::string_view name) {
  if (const auto it = state_->by_name.find(name); it != state_->by_name.end()) return it->second;
  const Dim symbol = state_->add_symbol({std::string(name), SymbolOrigin::named, true, {}});
  state_->by_name.emplace(name, symbol);
  return symbol;
}

Dim DimPool::fresh(std::string_view stem, SymbolOrigin origin, std::string reason, bool non_negative) {
  std::string name(stem);
  std::size_t& count = state_->stems.try_emplace(name, 1).first->second;
  while (state_->by_name.contains(name)) name = std::string(stem) + '_' + std::to_string(++count);
  const Dim symbol = state_->add_symbol({name, origin, non_negative, std::move(reason)});
  state_->by_name.emplace(std::move(name), symbol);
  return symbol;
}

void DimPool::bind(std::string_view name, std::int64_t value) {
  state_->by_name.insert_or_assign(std::string(name), Dim(value));
}

Dim DimPool::from_dim_param(std::string_view text) {
  if (text.empty() || text == "?") return {};
  const std::optional<Dim> parsed = parse(text);
  return parsed ? *parsed : named(text);
}

Dim DimPool::add(Dim a, Dim b) { return state_->add_scaled(a, b, 1); }
Dim DimPool::sub(Dim a, Dim b) { return state_->add_scaled(a, b, -1); }
Dim DimPool::mul(Dim a, Dim b) { return state_->mul(a, b); }
Dim DimPool::floor_div(Dim a, Dim b) { return state_->floor_div(a, b); }

Dim DimPool::ceil_div(Dim a, Dim b) {
  if (b.is_constant() && b.constant() > 0) return floor_div(add(a, b.constant() - 1), b);
  return sub(0, floor_div(sub(0, a), b));
}

Dim DimPool::mod(Dim a, Dim b) { return sub(a, mul(b, floor_div(a, b))); }

Dim DimPool::min(Dim a, Dim b) { return sub(a, state_->positive_part(sub(a, b))); }
Dim DimPool::max(Dim a, Dim b) { return add(b, state_->positive_part(sub(a, b))); }

Dim DimPool::broadcast(Dim a, Dim b) { return state_->broadcast(a, b); }

bool DimPool::never_equal(Dim a, Dim b) { return state_->never_equal(a, b); }

std::optional<std::int64_t> DimPool::lower_bound(Dim a) const {
  return a.is_unknown() ? std::nullopt : state_->bounds(a).low;
}

std::optional<std::int64_t> DimPool::upper_bound(Dim a) const {
  return a.is_unknown() ? std::nullopt : state_->bounds(a).high;
}

bool DimPool::always_at_least(Dim a, Dim b) {
  const std::optional<std::int64_t> least = lower_bound(sub(a, b));
  return least && *least >= 0;
}

bool DimPool::at_least_unless_empty(Dim a, Dim b) {
  return always_at_least(a, b) || always_at_least(state_->with_increments(sub(a, b)), 0);
}

std::optional<Dim> DimPool::exact_div(Dim a, Dim b) { return state_->exact_div(a, b); }

std::optional<std::int64_t> DimPool::evaluate(
    Dim a, const std::function<std::optional<std::int64_t>(std::string_view)>& value_of) const {
  if (a.is_unknown()) return std::nullopt;
  return state_->evaluate(a, value_of);
}

std::vector<DimTerm> DimPool::terms(Dim a) {
  std::vector<DimTerm> terms;
  if (a.is_constant() && !a.is(0)) terms.push_back({a.constant(), {}});
  if (!a.is_expression()) return terms;
  const Polynomial polynomial = state_->expression_of(a).polynomial;
  for (const Term& term : polynomial) {
    DimTerm& made = terms.emplace_back(DimTerm{term.coefficient, {}});
    for (const AtomId id : term.atoms) {
      const Atom atom = state_->atoms[id];
      made.factors.push_back({static_cast<DimFactor::Kind>(atom.kind), state_->intern(Polynomial{Term{1, {id}}}),
                              atom.symbol, atom.a, atom.b});
    }
  }
  return terms;
}

std::vector<std::size_t> DimPool::symbols_in(Dim a) const {
  std::vector<std::size_t> found;
  state_->collect_symbols(a, found);
  return found;
}

const Symbol& DimPool::symbol(std::size_t index) const { return state_->symbols[index]; }

bool DimPool::has_origin(Dim a, SymbolOrigin origin) const {
  const std::vector<std::size_t> found = symbols_in(a);
  return std::any_of(found.begin(), found.end(),
                     [&](std::size_t index) { return state_->symbols[index].origin == origin; });
}

}  // namespace onnxkit::ir
