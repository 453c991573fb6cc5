#include <algorithm>

#include "libonnxkit/ir/dim/dim_state.h"

namespace onnxkit::ir {

bool is_name_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte >= 0x80 ||
         std::string_view("_.:$@#").find(c) != std::string_view::npos;
}

bool is_plain_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9') || text[0] == '.') return false;
  return std::all_of(text.begin(), text.end(), is_name_character);
}

namespace {

std::string in_quotes(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

/// A name alone needs quotes only when it would be read as something else.
std::string symbol_alone(const std::string& name) {
  if (is_plain_name(name)) return name;
  const bool misread = name.empty() || name == "?" || DimPool().parse(name).has_value();
  return misread ? in_quotes(name) : name;
}

}  // namespace

/// Prints a Dim of `State`; `Polynomial` arguments need not be interned.
class DimPool::Printer {
 public:
  explicit Printer(const State& state) : state_(state) {}

  std::string sum(Polynomial p) const {
    if (p.empty()) return "0";
    if (const std::optional<std::string> text = extremum(p)) return *text;
    // "1 - N" rather than "-N + 1".
    const auto positive = std::find_if(p.begin(), p.end(), [](const Term& t) { return t.coefficient > 0; });
    if (positive != p.end()) std::rotate(p.begin(), positive, positive + 1);
    std::string text;
    for (const Term& term : p) {
      const bool negative = term.coefficient < 0;
      if (text.empty()) {
        text = negative ? '-' + product(term, true) : product(term, false);
      } else {
        text += (negative ? " - " : " + ") + product(term, false);
      }
    }
    return text;
  }

 private:
  std::string operand(Dim d) const { return sum(state_.polynomial(d)); }

  /// max(a, b) is kept as b + positive_part(a - b); shown as the former wherever that is not longer.
  std::optional<std::string> extremum(const Polynomial& p) const {
    for (const Term& term : p) {
      if (term.atoms.size() != 1 || (term.coefficient != 1 && term.coefficient != -1)) continue;
      const Atom& atom = state_.atoms[term.atoms.front()];
      if (atom.kind != AtomKind::positive_part) continue;
      const Polynomial difference = state_.polynomial(atom.a);
      const std::optional<Polynomial> first = add_scaled(p, {term}, -1);
      const std::optional<Polynomial> second = first ? add_scaled(*first, difference, term.coefficient) : std::nullopt;
      if (!second || first->size() + second->size() > difference.size()) continue;
      const bool constant_first = second->empty() || second->front().atoms.empty();
      const std::string a = sum(constant_first ? *first : *second), b = sum(constant_first ? *second : *first);
      return (term.coefficient > 0 ? "max(" : "min(") + a + ", " + b + ')';
    }
    return std::nullopt;
  }

  /// Without the sign of the coefficient.
  std::string product(const Term& term, bool after_minus) const {
    const bool shows_coefficient = term.coefficient != 1 && term.coefficient != -1;
    std::string text;
    if (shows_coefficient || term.atoms.empty()) {
      text = std::to_string(term.coefficient);
      if (text[0] == '-') text.erase(0, 1);
    }
    const bool alone = !shows_coefficient && term.atoms.size() == 1 && !after_minus;
    for (const AtomId id : term.atoms) {
      if (!text.empty()) text += '*';
      text += factor(state_.atoms[id], alone);
    }
    return text;
  }

  std::string factor(const Atom& atom, bool alone) const {
    switch (atom.kind) {
      case AtomKind::symbol: {
        const std::string& name = state_.symbols[atom.symbol].name;
        return is_plain_name(name) ? name : in_quotes(name);
      }
      case AtomKind::positive_part:
        return "max(" + operand(atom.a) + ", 0)";
      case AtomKind::broadcast:
        return "broadcast(" + operand(atom.a) + ", " + operand(atom.b) + ')';
      case AtomKind::floor_div:
        break;
    }
    const std::string text = division_operand(atom.a) + "//" + division_operand(atom.b);
    return alone ? text : '(' + text + ')';
  }

  std::string division_operand(Dim d) const {
    const Polynomial p = state_.polynomial(d);
    if (const std::optional<std::string> text = extremum(p)) return *text;
    const bool simple = p.empty() || (p.size() == 1 && p[0].atoms.empty() && p[0].coefficient >= 0) ||
                        (p.size() == 1 && p[0].coefficient == 1 && p[0].atoms.size() == 1 &&
                         state_.atoms[p[0].atoms[0]].kind != AtomKind::floor_div);
    return simple ? sum(p) : '(' + sum(p) + ')';
  }

  const State& state_;
};

std::string DimPool::to_string(Dim a) const {
  if (a.is_unknown()) return "?";
  if (a.is_constant()) return std::to_string(a.constant());
  const Polynomial& p = state_->expression_of(a).polynomial;
  if (p.size() == 1 && p[0].coefficient == 1 && p[0].atoms.size() == 1) {
    const Atom& atom = state_->atoms[p[0].atoms[0]];
    if (atom.kind == AtomKind::symbol) return symbol_alone(state_->symbols[atom.symbol].name);
  }
  return Printer(*state_).sum(p);
}

}  // namespace onnxkit::ir
