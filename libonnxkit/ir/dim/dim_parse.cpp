#include <charconv>

#include "libonnxkit/ir/dim/dim_state.h"

namespace onnxkit::ir {
namespace {

constexpr std::size_t max_text = 2048;
constexpr int max_nesting = 48;

enum class DimFunction : std::uint8_t { floor, ceiling, floor_div, ceil_div, exact_div, mod, min, max, broadcast };

struct DimFunctionName {
  std::string_view name;
  DimFunction function;
  bool takes_many = false;
  std::size_t arguments = 2;
};

// As printed by us, by SymPy and by PyTorch's symbolic shapes.
constexpr DimFunctionName functions[] = {
    {"min", DimFunction::min, true},
    {"Min", DimFunction::min, true},
    {"max", DimFunction::max, true},
    {"Max", DimFunction::max, true},
    {"broadcast", DimFunction::broadcast, true},
    {"floor", DimFunction::floor, false, 1},
    {"ceil", DimFunction::ceiling, false, 1},
    {"ceiling", DimFunction::ceiling, false, 1},
    {"FloorDiv", DimFunction::floor_div},
    {"CeilDiv", DimFunction::ceil_div},
    {"CleanDiv", DimFunction::exact_div},
    {"Mod", DimFunction::mod},
    {"PythonMod", DimFunction::mod},
};

const DimFunctionName* find_function(std::string_view name) {
  for (const DimFunctionName& f : functions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// SymPy writes floor(s0/2 + 1/2): inside, numbers are fractions.
struct Fraction {
  Dim numerator;
  Dim denominator = 1;
};

/// Recursive descent with the precedences of Python. Every function gives nullopt for what is no expression or has an
/// unknown value.
class Parser {
 public:
  Parser(DimPool& pool, std::string_view text) : pool_(pool), text_(text) {}

  std::optional<Dim> whole() {
    const std::optional<Dim> result = integer(sum());
    return after_space() == text_.size() ? result : std::nullopt;
  }

 private:
  std::optional<Fraction> checked(Fraction f) const {
    if (f.numerator.is_unknown() || f.denominator.is_unknown() || f.denominator.is(0)) return std::nullopt;
    return f;
  }

  std::optional<Dim> integer(const std::optional<Fraction>& f) {
    if (!f) return std::nullopt;
    return f->denominator.is(1) ? f->numerator : pool_.exact_div(f->numerator, f->denominator);
  }

  std::optional<Fraction> whole_number(Dim d) const { return checked({d, 1}); }

  std::size_t after_space() const {
    std::size_t at = at_;
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return at;
  }

  bool take(std::string_view token) {
    const std::size_t at = after_space();
    if (text_.substr(at, token.size()) != token) return false;
    at_ = at + token.size();
    return true;
  }

  /// "seq-len" and "dim-1" are names in somebody's model, not differences; those have spaces or a bracket before the
  /// minus.
  bool minus_inside_name() const { return after_name_ && at_ < text_.size() && text_[at_] == '-'; }

  std::optional<Fraction> sum() {
    std::optional<Fraction> left = product();
    while (left) {
      if (minus_inside_name()) return std::nullopt;
      const bool plus = take("+");
      if (!plus && !take("-")) break;
      const std::optional<Fraction> right = product();
      if (!right) return std::nullopt;
      left = added(*left, *right, plus);
    }
    return left;
  }

  std::optional<Fraction> added(const Fraction& a, const Fraction& b, bool plus) {
    const Dim x = pool_.mul(a.numerator, b.denominator), y = pool_.mul(b.numerator, a.denominator);
    return checked({plus ? pool_.add(x, y) : pool_.sub(x, y), pool_.mul(a.denominator, b.denominator)});
  }

  std::optional<Fraction> product() {
    std::optional<Fraction> left = signed_factor();
    while (left) {
      if (take("//")) {
        left = combined(DimFunction::floor_div, left, signed_factor());
      } else if (take("%")) {
        left = combined(DimFunction::mod, left, signed_factor());
      } else if (take("/")) {
        left = quotient(*left, signed_factor());
      } else if (take("*")) {
        const std::optional<Fraction> right = signed_factor();
        if (!right) return std::nullopt;
        left =
            checked({pool_.mul(left->numerator, right->numerator), pool_.mul(left->denominator, right->denominator)});
      } else {
        break;
      }
    }
    return left;
  }

  /// "Transpose/x" is a name: only numbers and expressions of which a whole remains stand below a plain "/".
  std::optional<Fraction> quotient(const Fraction& a, const std::optional<Fraction>& b) {
    if (!b || !b->numerator.is_constant() || b->numerator.constant() <= 0) return std::nullopt;
    return checked({pool_.mul(a.numerator, b->denominator), pool_.mul(a.denominator, b->numerator)});
  }

  std::optional<Fraction> signed_factor() {
    bool negative = false;
    while (take("-")) negative = !negative;
    const std::optional<Fraction> f = power();
    if (!f || !negative) return f;
    return checked({pool_.sub(0, f->numerator), f->denominator});
  }

  std::optional<Fraction> power() {
    const std::optional<Fraction> base = primary();
    if (!base || !take("**")) return base;
    const std::optional<Dim> exponent = integer(primary());
    constexpr std::int64_t max_exponent = 12;
    if (!exponent || !exponent->is_constant() || exponent->constant() < 0 || exponent->constant() > max_exponent) {
      return std::nullopt;
    }
    Fraction result{1, 1};
    for (std::int64_t i = 0; i < exponent->constant(); ++i) {
      result = {pool_.mul(result.numerator, base->numerator), pool_.mul(result.denominator, base->denominator)};
    }
    return checked(result);
  }

  std::optional<Fraction> primary() {
    after_name_ = false;
    at_ = after_space();
    if (at_ == text_.size() || nesting_ == max_nesting) return std::nullopt;
    const char c = text_[at_];
    if (is_digit(c)) return number();
    if (c == '"') return quoted_name();
    if (c == '(') {
      ++at_;
      return bracketed();
    }
    return is_name_character(c) ? name_or_call() : std::nullopt;
  }

  std::optional<Fraction> bracketed() {
    ++nesting_;
    const std::optional<Fraction> inner = sum();
    --nesting_;
    const bool closed = take(")");
    after_name_ = false;
    return closed ? inner : std::nullopt;
  }

  std::optional<Fraction> number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && is_name_character(text_[at_])) return std::nullopt;
    return whole_number(value);
  }

  std::optional<Fraction> quoted_name() {
    std::string name;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && ++at_ == text_.size()) return std::nullopt;
      name += text_[at_];
    }
    if (at_ == text_.size()) return std::nullopt;
    ++at_;
    return whole_number(pool_.named(name));
  }

  std::optional<Fraction> name_or_call() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (!is_plain_name(name)) return std::nullopt;
    if (at_ < text_.size() && text_[at_] == '(') {
      const DimFunctionName* function = find_function(name);
      return function ? call(*function) : std::nullopt;
    }
    after_name_ = true;
    return whole_number(pool_.named(name));
  }

  std::optional<Fraction> call(const DimFunctionName& f) {
    ++at_;
    ++nesting_;
    std::optional<Fraction> result;
    std::size_t count = 0;
    do {
      const std::optional<Fraction> argument = sum();
      if (!argument) return std::nullopt;
      result = ++count == 1 ? first_argument(f, *argument) : combined(f.function, result, argument);
    } while (result && take(","));
    --nesting_;
    const bool closed = take(")");
    after_name_ = false;
    const bool right_count = f.takes_many ? count >= 1 : count == f.arguments;
    return closed && right_count ? result : std::nullopt;
  }

  std::optional<Fraction> first_argument(const DimFunctionName& f, const Fraction& a) {
    if (f.function == DimFunction::floor) return whole_number(pool_.floor_div(a.numerator, a.denominator));
    if (f.function == DimFunction::ceiling) return whole_number(pool_.ceil_div(a.numerator, a.denominator));
    return a;
  }

  std::optional<Fraction> combined(DimFunction function, const std::optional<Fraction>& a,
                                   const std::optional<Fraction>& b) {
    const std::optional<Dim> x = integer(a), y = integer(b);
    if (!x || !y) return std::nullopt;
    switch (function) {
      case DimFunction::floor_div:
        return whole_number(pool_.floor_div(*x, *y));
      case DimFunction::ceil_div:
        return whole_number(pool_.ceil_div(*x, *y));
      case DimFunction::exact_div:
        return whole_number(pool_.exact_div(*x, *y).value_or(Dim()));
      case DimFunction::mod:
        return whole_number(pool_.mod(*x, *y));
      case DimFunction::min:
        return whole_number(pool_.min(*x, *y));
      case DimFunction::broadcast:
        return whole_number(pool_.broadcast(*x, *y));
      case DimFunction::max:
        return whole_number(pool_.max(*x, *y));
      case DimFunction::floor:
      case DimFunction::ceiling:
        break;
    }
    return std::nullopt;
  }

  DimPool& pool_;
  std::string_view text_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  bool after_name_ = false;  ///< the last token was a name, and nothing follows it yet
};

}  // namespace

std::optional<Dim> DimPool::parse(std::string_view text) {
  if (text.size() > max_text) return std::nullopt;
  return Parser(*this, text).whole();
}

}  // namespace onnxkit::ir
