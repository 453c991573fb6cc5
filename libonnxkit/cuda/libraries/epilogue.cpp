#include "libonnxkit/cuda/libraries/epilogue.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::cuda {
namespace {

using plan::Expression;
using plan::Instruction;
using plan::Operation;
using Kind = EpilogueLink::Kind;
using Number = Expression::Number;

bool is_commutative(Operation operation) {
  return operation == Operation::add || operation == Operation::multiply || operation == Operation::minimum ||
         operation == Operation::maximum;
}

std::size_t count_readers(const Expression& expression, Number of) {
  std::size_t count = 0;
  for (const Instruction& instruction : expression.code()) {
    for (int i = 0; i < plan::arity_of(instruction.operation); ++i) count += instruction.operands[i] == of ? 1 : 0;
  }
  return count;
}

bool is_equal_constant(const Instruction& a, const Instruction& b) {
  constexpr double rounding = 1e-6;
  return b.operation == Operation::constant && std::abs(a.real - b.real) <= rounding * std::abs(a.real);
}

struct Matcher {
  const Expression& expression;
  const Expression& pattern;
  Number x;

  bool matches(Number at, Number in_pattern) const {
    const Instruction &wanted = pattern.code()[in_pattern], &is = expression.code()[at];
    if (wanted.operation == Operation::input) return at == x;
    if (wanted.operation == Operation::constant) return is_equal_constant(wanted, is);
    if (wanted.operation != is.operation || at == x) return false;
    const int arity = plan::arity_of(wanted.operation);
    const auto operands_match = [&](bool swaps) {
      for (int i = 0; i < arity; ++i)
        if (!matches(is.operands[swaps ? 1 - i : i], wanted.operands[i])) return false;
      return true;
    };
    return operands_match(false) || (arity == 2 && is_commutative(wanted.operation) && operands_match(true));
  }
};

Expression gelu_pattern(bool is_tanh) {
  constexpr plan::Lane lane = plan::Lane::f32;
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
  const Number x = e.input(0, plan::Lane::f32);
  e.apply(Operation::multiply, x, e.apply(Operation::sigmoid, x));
  return e;
}

/// An activation that reads its argument more than once.
std::optional<EpilogueLink> find_pattern(const Expression& expression, Number at) {
  const std::pair<Kind, Expression> patterns[] = {
      {Kind::gelu_tanh, gelu_pattern(true)}, {Kind::gelu_erf, gelu_pattern(false)}, {Kind::swish, swish_pattern()}};
  const std::size_t readers = count_readers(expression, at);
  for (const auto& [kind, pattern] : patterns) {
    if (count_readers(pattern, 0) != readers) continue;
    for (Number i = at + 1; i < expression.code().size(); ++i) {
      if (computes(expression, i, pattern, at)) return EpilogueLink{.kind = kind, .end = i};
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
  if (plan::arity_of(next.operation) != 2) return std::nullopt;
  const bool is_first = next.operands[0] == at;
  const Number other = next.operands[is_first ? 1 : 0];
  const Instruction& operand = expression.code()[other];
  const bool is_constant = operand.operation == Operation::constant;
  std::optional<EpilogueLink> link;
  if (next.operation == Operation::add) link = addend(expression, other);
  if (next.operation == Operation::multiply && is_constant)
    link = EpilogueLink{.kind = Kind::scale, .factor = operand.real};
  if (next.operation == Operation::multiply && operand.operation == Operation::input && operand.index != 0)
    link = EpilogueLink{.kind = Kind::times, .input = operand.index};
  if (next.operation == Operation::maximum && is_constant && operand.real == 0) link = EpilogueLink{.kind = Kind::relu};
  if (next.operation == Operation::minimum && is_constant)
    link = EpilogueLink{.kind = Kind::minimum, .factor = operand.real};
  if (link) link->end = by;
  return link;
}

std::optional<EpilogueLink> next_link(const Expression& expression, Number at) {
  if (count_readers(expression, at) != 1) return find_pattern(expression, at);
  for (Number i = at + 1; i < expression.code().size(); ++i) {
    const Instruction& next = expression.code()[i];
    for (int k = 0; k < plan::arity_of(next.operation); ++k)
      if (next.operands[k] == at) return link_by(expression, at, i);
  }
  return std::nullopt;
}

/// The first and the last element of a view.
std::pair<std::int64_t, std::int64_t> ends_of(const View& view) {
  std::pair<std::int64_t, std::int64_t> ends{view.offset, view.offset};
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    const std::int64_t reach = (view.dims[axis] - 1) * view.strides[axis];
    (reach < 0 ? ends.first : ends.second) += reach;
  }
  return ends;
}

bool are_apart(const View& a, const View& b) {
  const auto first = ends_of(a), second = ends_of(b);
  return first.second < second.first || second.second < first.first;
}

/// Where in each stretch of `period` elements a view lies; nothing when it is not in the same place of each.
std::optional<std::pair<std::int64_t, std::int64_t>> part_of(const View& view, std::int64_t period) {
  std::int64_t first = view.offset % period, last = first;
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    if (view.dims[axis] == 1 || view.strides[axis] % period == 0) continue;
    if (view.strides[axis] < 0) return std::nullopt;
    last += (view.dims[axis] - 1) * view.strides[axis];
  }
  if (last >= period) return std::nullopt;
  return std::pair(first, last);
}

/// Parts of the rows of one tensor, as a Concat along channels has them.
bool are_side_by_side(const View& a, const View& b) {
  for (const std::int64_t period : a.strides) {
    if (period <= 1) continue;
    const auto first = part_of(a, period), second = part_of(b, period);
    if (first && second && (first->second < second->first || second->second < first->first)) return true;
  }
  return false;
}

}  // namespace

bool computes(const Expression& expression, Number at, const Expression& pattern, Number x) {
  return Matcher{.expression = expression, .pattern = pattern, .x = x}.matches(at, pattern.last());
}

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

std::vector<EpilogueLink> links_of(const Expression& expression) {
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

bool may_overlap(const plan::Plan& plan, const View& a, const View& b) {
  const plan::Buffer &first = plan.buffers[a.buffer], &second = plan.buffers[b.buffer];
  if (a.buffer == b.buffer) return !are_apart(a, b) && !are_side_by_side(a, b);
  return first.home == plan::Home::arena && second.home == plan::Home::arena &&
         first.offset < second.offset + second.bytes && second.offset < first.offset + first.bytes;
}

std::uint32_t alignment_of(const plan::Plan& plan, const View& view) {
  const plan::Buffer& buffer = plan.buffers[view.buffer];
  const std::int64_t width = storage_bits(view.type) / 8;
  const std::uint64_t from = buffer.home == plan::Home::arena ? buffer.offset : 0;
  const std::uint64_t place = from + static_cast<std::uint64_t>(view.offset * width);
  constexpr std::uint64_t most = 256;
  return static_cast<std::uint32_t>((place | most) & (~(place | most) + 1));
}

std::optional<plan::Step> rest_of(const plan::Step& step, const Expression& expression, Number done,
                                  const plan::Plan& plan) {
  const Expression rest = expression.behind(done);
  const View& to = step.outputs[0];
  std::vector<std::size_t> numbers(rest.input_count(), 0);
  std::set<std::size_t> used;
  for (const Instruction& instruction : rest.code())
    if (instruction.operation == Operation::input && instruction.index != 0) used.insert(instruction.index);
  plan::Step map{.kind = plan::map_step, .inputs = {to}, .outputs = {to}, .nodes = step.nodes};
  for (const std::size_t input : used) {
    numbers[input] = map.inputs.size();
    map.inputs.push_back(step.inputs[input + 1]);
    if (may_overlap(plan, map.inputs.back(), to)) return std::nullopt;
  }
  auto parameters = std::make_shared<plan::MapParameters>();
  parameters->expression = rest.renumbered(numbers);
  map.parameters = std::move(parameters);
  return map;
}

}  // namespace onnxkit::cuda
