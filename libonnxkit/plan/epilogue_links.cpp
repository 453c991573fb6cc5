#include "libonnxkit/plan/epilogue_links.h"

#include <cmath>
#include <utility>

namespace onnxkit::plan {
namespace {

using Kind = EpilogueLink::Kind;
using Number = Expression::Number;

bool is_commutative(Operation operation) {
  return operation == Operation::add || operation == Operation::multiply || operation == Operation::minimum ||
         operation == Operation::maximum;
}

std::size_t count_readers(const Expression& expression, Number of) {
  std::size_t count = 0;
  for (const Instruction& instruction : expression.code()) {
    for (int i = 0; i < arity_of(instruction.operation); ++i) count += instruction.operands[i] == of ? 1 : 0;
  }
  return count;
}

bool is_equal_constant(const Instruction& a, const Instruction& b) {
  constexpr double rounding = 1e-6;
  return b.operation == Operation::constant && std::abs(a.real - b.real) <= rounding * std::abs(a.real);
}

/// Whether instructions of the expression compute what `pattern` does to its input 0, which is instruction `x`. Factors and addends may be in either
/// order, constants differ by float32's rounding.
struct Matcher {
  const Expression& expression;
  const Expression& pattern;
  Number x;

  bool matches(Number at, Number in_pattern) const {
    const Instruction &wanted = pattern.code()[in_pattern], &is = expression.code()[at];
    if (wanted.operation == Operation::input) return at == x;
    if (wanted.operation == Operation::constant) return is_equal_constant(wanted, is);
    if (wanted.operation != is.operation || at == x) return false;
    const int arity = arity_of(wanted.operation);
    const auto operands_match = [&](bool swaps) {
      for (int i = 0; i < arity; ++i)
        if (!matches(is.operands[swaps ? 1 - i : i], wanted.operands[i])) return false;
      return true;
    };
    return operands_match(false) || (arity == 2 && is_commutative(wanted.operation) && operands_match(true));
  }
};

Expression gelu_pattern(bool is_tanh) {
  constexpr Lane lane = Lane::f32;
  Expression e;
  const Number x = e.input(0, lane);
  Number inner = 0;
  if (is_tanh) {
    const Number square = e.apply(Operation::multiply, x, x);
    const Number factor =
        e.apply(Operation::add, e.apply(Operation::multiply, square, e.constant(lane, 0.044715)), e.constant(lane, 1));
    inner = e.apply(Operation::tanh, e.apply(Operation::multiply, e.apply(Operation::multiply, x, factor),
                                             e.constant(lane, 0.7978845608028654)));
  } else {
    inner = e.apply(Operation::erf, e.apply(Operation::multiply, x, e.constant(lane, 0.7071067811865476)));
  }
  const Number half = e.apply(Operation::multiply, x, e.constant(lane, 0.5));
  e.apply(Operation::multiply, half, e.apply(Operation::add, inner, e.constant(lane, 1)));
  return e;
}

Expression swish_pattern() {
  Expression e;
  const Number x = e.input(0, Lane::f32);
  e.apply(Operation::multiply, x, e.apply(Operation::sigmoid, x));
  return e;
}

/// Whether the result reads instruction `at` by way of `end` alone.
bool leads_through(const Expression& expression, Number at, Number end) {
  const auto& code = expression.code();
  std::vector<bool> is_read(code.size(), false);
  is_read.back() = true;
  for (std::size_t i = code.size(); i-- > 0;) {
    if (!is_read[i] || i == end) continue;
    for (int k = 0; k < arity_of(code[i].operation); ++k) is_read[code[i].operands[k]] = true;
  }
  return !is_read[at];
}

/// An activation that reads its argument more than once.
std::optional<EpilogueLink> find_pattern(const Expression& expression, Number at) {
  const std::pair<Kind, Expression> patterns[] = {
      {Kind::gelu_tanh, gelu_pattern(true)}, {Kind::gelu_erf, gelu_pattern(false)}, {Kind::swish, swish_pattern()}};
  const std::size_t readers = count_readers(expression, at);
  for (const auto& [kind, pattern] : patterns) {
    if (count_readers(pattern, 0) != readers) continue;
    const Matcher matcher{.expression = expression, .pattern = pattern, .x = at};
    for (Number i = at + 1; i < expression.code().size(); ++i) {
      if (matcher.matches(i, pattern.last()) && leads_through(expression, at, i))
        return EpilogueLink{.kind = kind, .end = i};
    }
  }
  return std::nullopt;
}

/// `other` as an operand, or as one times a constant.
std::optional<EpilogueLink> addend(const Expression& expression, Number other) {
  const Instruction& instruction = expression.code()[other];
  EpilogueLink link{.kind = Kind::add};
  if (instruction.operation == Operation::input && instruction.index != 0) {
    link.input = instruction.index;
    return link;
  }
  if (instruction.operation != Operation::multiply) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const Instruction &input = expression.code()[instruction.operands[i]],
                      &factor = expression.code()[instruction.operands[1 - i]];
    if (input.operation != Operation::input || input.index == 0 || factor.operation != Operation::constant) continue;
    link.input = input.index;
    link.factor = factor.real;
    return link;
  }
  return std::nullopt;
}

std::optional<EpilogueLink> link_by(const Expression& expression, Number at, Number by) {
  const Instruction& next = expression.code()[by];
  if (next.operation == Operation::round_to) return EpilogueLink{.kind = Kind::round_to, .type = next.type, .end = by};
  if (next.operation == Operation::sigmoid) return EpilogueLink{.kind = Kind::sigmoid, .end = by};
  if (next.operation == Operation::tanh) return EpilogueLink{.kind = Kind::tanh, .end = by};
  if (arity_of(next.operation) != 2) return std::nullopt;
  const bool is_first = next.operands[0] == at;
  const Number other = next.operands[is_first ? 1 : 0];
  const Instruction& operand = expression.code()[other];
  const bool is_constant = operand.operation == Operation::constant;
  const bool is_bound = is_constant && !std::isnan(operand.real);  // NaN bounds nothing and is passed on
  std::optional<EpilogueLink> link;
  if (next.operation == Operation::add) link = addend(expression, other);
  if (next.operation == Operation::multiply && is_constant)
    link = EpilogueLink{.kind = Kind::scale, .factor = operand.real};
  if (next.operation == Operation::multiply && operand.operation == Operation::input && operand.index != 0)
    link = EpilogueLink{.kind = Kind::times, .input = operand.index};
  if (next.operation == Operation::maximum && is_bound)
    link = EpilogueLink{.kind = operand.real == 0 ? Kind::relu : Kind::maximum, .factor = operand.real};
  if (next.operation == Operation::minimum && is_bound)
    link = EpilogueLink{.kind = Kind::minimum, .factor = operand.real};
  if (link) link->end = by;
  return link;
}

std::optional<EpilogueLink> next_link(const Expression& expression, Number at) {
  if (count_readers(expression, at) != 1) return find_pattern(expression, at);
  for (Number i = at + 1; i < expression.code().size(); ++i) {
    const Instruction& next = expression.code()[i];
    for (int k = 0; k < arity_of(next.operation); ++k)
      if (next.operands[k] == at) return link_by(expression, at, i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Number> sum_of(const Expression& expression) {
  std::optional<Number> sum;
  for (Number i = 0; i < expression.code().size(); ++i) {
    const Instruction& instruction = expression.code()[i];
    if (instruction.operation != Operation::input || instruction.index != 0) continue;
    if (sum) return std::nullopt;
    sum = i;
  }
  return sum;
}

std::vector<EpilogueLink> epilogue_links_of(const Expression& expression) {
  std::vector<EpilogueLink> links;
  const auto sum = sum_of(expression);
  if (!sum) return links;
  auto link = next_link(expression, *sum);
  while (link) {
    links.push_back(*link);
    link = next_link(expression, link->end);
  }
  return links;
}

}  // namespace onnxkit::plan
