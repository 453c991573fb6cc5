#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnxkit::ir {

class DimPool;

/// An integer that may be symbolic: a constant, an expression interned in a DimPool ("2*H", "(H + 1)//2"), or unknown.
/// Two Dims of one pool that are built from equal expressions in any order compare equal (canonical form); unknown
/// equals nothing. Used for dimensions (never negative) and for the elements of small integer tensors (any sign).
class Dim {
 public:
  constexpr Dim() = default;
  constexpr Dim(std::int64_t constant) : value_(constant), kind_(Kind::constant) {}

  constexpr bool is_unknown() const { return kind_ == Kind::unknown; }
  constexpr bool is_constant() const { return kind_ == Kind::constant; }
  constexpr bool is_expression() const { return kind_ == Kind::expression; }
  /// Precondition: is_constant().
  constexpr std::int64_t constant() const { return value_; }
  constexpr bool is(std::int64_t constant) const { return is_constant() && value_ == constant; }

  friend constexpr bool operator==(const Dim& a, const Dim& b) {
    return a.kind_ == b.kind_ && a.kind_ != Kind::unknown && a.value_ == b.value_;
  }

 private:
  friend class DimPool;
  enum class Kind : std::uint8_t { unknown, constant, expression };
  static Dim expression(std::int64_t id) {
    Dim d;
    d.value_ = id;
    d.kind_ = Kind::expression;
    return d;
  }
  std::int64_t value_ = 0;  ///< the constant, or the index of the expression in its pool
  Kind kind_ = Kind::unknown;
};

/// Why a symbol exists.
enum class SymbolOrigin : std::uint8_t {
  named,           ///< a dim_param of the model
  input,           ///< an unnamed dimension of a graph input
  data_dependent,  ///< the size truly depends on data (NonZero, Unique, Loop trip count ...)
  lost,            ///< inference could not follow; the reason says why
};

struct Symbol {
  std::string name;
  SymbolOrigin origin = SymbolOrigin::named;
  bool non_negative = true;  ///< dimensions are; values read from a runtime tensor need not be
  std::string reason;        ///< for data_dependent and lost: why no more is known
};

/// A factor of an expression that cannot be taken apart by addition and multiplication.
struct DimFactor {
  enum class Kind : std::uint8_t {
    symbol,
    floor_div,      ///< a // b
    positive_part,  ///< max(a, 0)
    broadcast,      ///< the size that axes of sizes a and b have together
  };
  Kind kind = Kind::symbol;
  Dim value = {};          ///< the factor itself
  std::size_t symbol = 0;  ///< index of a symbol
  Dim a = {}, b = {};      ///< operands of others
};
/// coefficient * factors[0] * factors[1] ...
struct DimTerm {
  std::int64_t coefficient = 0;
  std::vector<DimFactor> factors;
};

/// Owner and arithmetic of symbolic dimensions. Expressions are polynomials over atoms with int64 coefficients; atoms
/// are symbols, floor divisions and positive parts max(x, 0), with which modulo, minimum and maximum are written too.
/// Any operation whose result would overflow or grow beyond a fixed size yields an unknown Dim. Not thread-safe: one
/// pool per inference.
class DimPool {
 public:
  DimPool();
  ~DimPool();
  DimPool(DimPool&&) noexcept;
  DimPool& operator=(DimPool&&) noexcept;

  /// The symbol `name`, the same one at every call. Substitutions given before (see `bind`) apply.
  Dim named(std::string_view name);
  /// A new symbol that equals no other; its name is `stem` made unique ("nonzero", "nonzero_2", ...).
  Dim fresh(std::string_view stem, SymbolOrigin origin, std::string reason, bool non_negative = true);
  /// `--dim N=8`: from now on named(name) is `value`. Call before the first named(name).
  void bind(std::string_view name, std::int64_t value);
  /// Parses what to_string prints and what exporters write: integers, names (letters, digits, _.:$@#), "quoted names",
  /// + - * ** // % ( ) min() max() Min() Max() floor(a/b) ceiling(a/b) Mod(a, b) FloorDiv(a, b) ...; nullopt when
  /// `text` is no expression or its value would be unknown. A plain name is named(name). Texts that look like names are
  /// no expressions: "Transpose/x", "seq-len" and "dim-1" (a difference has a space or a bracket before its minus).
  std::optional<Dim> parse(std::string_view text);
  /// parse(text) or, failing that, named(text). Unknown for "" and "?", which exporters write for sizes that they do
  /// not know.
  Dim from_dim_param(std::string_view text);

  /// Unknown operands give unknown results.
  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  /// Towards minus infinity; unknown when b is 0 or of unknown sign. A size b is taken to be at least 1. Simplifies exact divisions:
  /// (6*N)//(2*N) = 3.
  Dim floor_div(Dim a, Dim b);
  Dim ceil_div(Dim a, Dim b);
  /// Sign of the divisor, as Python's %.
  Dim mod(Dim a, Dim b);
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);
  /// The size that two axes of sizes a and b have when one is broadcast against the other (equal, or one of them 1). Where that
  /// cannot be told it is the expression "broadcast(a, b)"; unknown when the sizes are constants that do not fit.
  Dim broadcast(Dim a, Dim b);

  /// a != b for every value of the symbols (non-negative ones taken as >= 0).
  bool never_equal(Dim a, Dim b);
  /// Provable bounds, if any: e.g. lower_bound(N + 3) = 3.
  std::optional<std::int64_t> lower_bound(Dim a) const;
  std::optional<std::int64_t> upper_bound(Dim a) const;
  bool always_at_least(Dim a, Dim b);
  /// The same where every non-negative symbol is at least 1, as sizes are of tensors that are not empty.
  bool at_least_unless_empty(Dim a, Dim b);
  /// a / b when b provably divides a wherever b is not 0 (a reshape of an empty tensor does not tell its sizes).
  std::optional<Dim> exact_div(Dim a, Dim b);

  /// With every symbol replaced by `value_of(name)`; nullopt when one has no value or the arithmetic overflows.
  std::optional<std::int64_t> evaluate(
      Dim a, const std::function<std::optional<std::int64_t>(std::string_view)>& value_of) const;
  /// The terms whose sum it is, for who writes it in a form of their own; none for an unknown one and 0.
  std::vector<DimTerm> terms(Dim a);
  /// Indices of the symbols that occur in `a`, each once.
  std::vector<std::size_t> symbols_in(Dim a) const;
  const Symbol& symbol(std::size_t index) const;
  /// True when some symbol of `a` has this origin (false for constants and unknown).
  bool has_origin(Dim a, SymbolOrigin origin) const;

  /// "8", "2*H", "(H + 1)//2", "?" for unknown. from_dim_param gives the same Dim back: names that would be read as
  /// something else are "quoted", odd ones ("batch size") only inside larger expressions.
  std::string to_string(Dim a) const;

 private:
  struct State;
  class Printer;
  std::unique_ptr<State> state_;
};

}  // namespace onnxkit::ir
