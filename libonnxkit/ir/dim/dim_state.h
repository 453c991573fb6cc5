#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "libonnxkit/ir/dim/dim.h"
#include "libonnxkit/ir/dim/interval.h"
#include "libonnxkit/ir/dim/polynomial.h"

namespace onnxkit::ir {

/// In the order of DimFactor::Kind. Few atoms suffice: modulo, minimum and maximum are written with the other two, so that what is equal becomes equal:
/// a % b = a - b*(a//b), max(a, b) = b + positive_part(a - b), min(a, b) = a - positive_part(a - b).
enum class AtomKind : std::uint8_t {
  symbol,
  floor_div,      ///< a // b; b is at least 1 where that has a value
  positive_part,  ///< max(a, 0)
  broadcast,      ///< a where b is 1, b where a is 1, else both; b may be another broadcast
};

struct Atom {
  AtomKind kind = AtomKind::symbol;
  Dim a, b;
  std::size_t symbol = 0;
  Interval bounds;
  int depth = 0;  ///< of nested atoms
  int size = 1;   ///< of the whole tree
};

struct AtomKey {
  AtomKind kind;
  Dim a, b;
  friend bool operator==(const AtomKey&, const AtomKey&) = default;
};

struct DimPool::State {
  struct Expression {
    Polynomial polynomial;
    Interval bounds;
    int depth = 0;
    int size = 0;
  };
  struct AtomHash {
    std::size_t operator()(const AtomKey& key) const;
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <typename T>
  using NameMap = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

  // Deques: entries stay where they are while operations on them add more.
  std::deque<Expression> expressions;
  std::deque<Atom> atoms;
  std::deque<Symbol> symbols;
  std::unordered_multimap<std::size_t, std::int64_t> expression_ids;  ///< by hash of the polynomial
  std::unordered_map<AtomKey, AtomId, AtomHash> atom_ids;
  NameMap<Dim> by_name;  ///< every symbol and every bound name
  NameMap<std::size_t> stems;

  const Expression& expression_of(Dim d) const { return expressions[static_cast<std::size_t>(d.value_)]; }
  /// Precondition for these: the Dim is known.
  Polynomial polynomial(Dim d) const;
  Interval bounds(Dim d) const;
  int depth(Dim d) const;
  int size(Dim d) const;

  /// The Dim of a polynomial; unknown when it is too large.
  Dim intern(const Polynomial& p);
  Dim intern(const std::optional<Polynomial>& p) { return p ? intern(*p) : Dim(); }
  /// The Dim of a compound atom; unknown when it nests too deeply.
  Dim atom(AtomKind kind, Dim a, Dim b);
  Dim add_symbol(Symbol symbol);

  Dim add_scaled(Dim a, Dim b, std::int64_t scale);
  Dim mul(Dim a, Dim b);
  bool never_equal(Dim a, Dim b);
  /// When `d` is nothing but one atom.
  const Atom* only_atom(Dim d) const;
  Dim floor_div(Dim a, Dim b);
  Dim floor_div_constant(Dim a, std::int64_t divisor);
  Dim floor_div_remainder(Polynomial p, std::int64_t divisor);
  Dim floor_div_expression(Dim a, Dim b);
  Dim broadcast(Dim a, Dim b);
  /// `b` is min(a, x) with x at least 1: wherever the two go together, the result is `a`.
  bool is_cut_off(Dim b, Dim a);
  /// The sizes that a size was broadcast from.
  void collect_broadcast(Dim a, std::vector<Dim>& found) const;
  Dim positive_part(Dim a);
  Dim positive_part_of_sum(Dim a);
  std::optional<Dim> exact_div(Dim a, Dim b);

  Interval bounds_of(const Polynomial& p, int substitutions) const;
  std::optional<Interval> bounds_by_cases(const Polynomial& p, AtomId atom, int substitutions) const;
  std::optional<Interval> bounds_without_floor(const Polynomial& p, AtomId atom, int substitutions) const;

  /// With N + 1 for every symbol N that is not negative.
  Dim with_increments(Dim d);
  Dim with_increment(AtomId id);

  using ValueOf = std::function<std::optional<std::int64_t>(std::string_view)>;
  std::optional<std::int64_t> evaluate(Dim d, const ValueOf& value_of) const;
  std::optional<std::int64_t> evaluate(const Atom& atom, const ValueOf& value_of) const;
  void collect_symbols(Dim d, std::vector<std::size_t>& found) const;
};

/// Letters, digits and _.:$@#, and bytes of other scripts; not a digit first. Needs no quotes inside an expression.
bool is_plain_name(std::string_view text);
bool is_name_character(char c);

}  // namespace onnxkit::ir
