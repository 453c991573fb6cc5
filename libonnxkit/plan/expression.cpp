#include "libonnxkit/plan/expression.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {
namespace {

struct Row {
  std::string_view name;
  int arity;
};

constexpr Row table[] = {
    {"x", 0},           {"constant", 0},   {"neg", 1},           {"abs", 1},        {"exp", 1},         {"log", 1},
    {"sqrt", 1},        {"reciprocal", 1}, {"tanh", 1},          {"erf", 1},        {"sigmoid", 1},     {"sin", 1},
    {"cos", 1},         {"tan", 1},        {"asin", 1},          {"acos", 1},       {"atan", 1},        {"sinh", 1},
    {"cosh", 1},        {"asinh", 1},      {"acosh", 1},         {"atanh", 1},      {"floor", 1},       {"ceil", 1},
    {"round", 1},       {"trunc", 1},      {"sign", 1},          {"is_nan", 1},     {"is_inf", 1},      {"not", 1},
    {"bitwise_not", 1}, {"convert", 1},    {"round_to", 1},      {"add", 2},        {"sub", 2},         {"mul", 2},
    {"div", 2},         {"min", 2},        {"max", 2},           {"pow", 2},        {"mod", 2},         {"fmod", 2},
    {"equal", 2},       {"less", 2},       {"less_or_equal", 2}, {"and", 2},        {"or", 2},          {"xor", 2},
    {"bitwise_and", 2}, {"bitwise_or", 2}, {"bitwise_xor", 2},   {"shift_left", 2}, {"shift_right", 2}, {"select", 3},
};
static_assert(std::size(table) == static_cast<std::size_t>(Operation::select) + 1);

const Row& row_of(Operation operation) { return table[static_cast<std::size_t>(operation)]; }

std::string_view lane_name(Lane lane) { return lane == Lane::f32 ? "f32" : lane == Lane::f64 ? "f64" : "i64"; }

bool gives_truth(Operation operation) {
  return operation == Operation::equal || operation == Operation::less || operation == Operation::less_or_equal ||
         operation == Operation::is_nan || operation == Operation::is_infinite;
}

}  // namespace

bool has_lane(ElementType type) {
  switch (type) {
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::float32:
    case ElementType::float64:
    case ElementType::int8:
    case ElementType::int16:
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::uint8:
    case ElementType::uint16:
    case ElementType::uint32:
    case ElementType::boolean:
      return true;
    default:
      return false;
  }
}

Lane lane_of(ElementType type) {
  if (type == ElementType::float64) return Lane::f64;
  const bool is_real = type == ElementType::float16 || type == ElementType::bfloat16 || type == ElementType::float32 ||
                       type == ElementType::float8e4m3fn;
  return is_real ? Lane::f32 : Lane::i64;
}

std::string_view name_of(Operation operation) { return row_of(operation).name; }
int arity_of(Operation operation) { return row_of(operation).arity; }

Expression::Number Expression::input(std::size_t index, Lane lane) {
  inputs_ = std::max(inputs_, index + 1);
  code_.push_back({.operation = Operation::input, .lane = lane, .index = static_cast<std::uint32_t>(index)});
  return last();
}

Expression::Number Expression::constant(Lane lane, double value) {
  code_.push_back({.operation = Operation::constant,
                   .lane = lane,
                   .real = value,
                   .integer = lane == Lane::i64 ? static_cast<std::int64_t>(value) : 0});
  return last();
}

Expression::Number Expression::integer(std::int64_t value) {
  code_.push_back({.operation = Operation::constant, .lane = Lane::i64, .integer = value});
  return last();
}

Expression::Number Expression::apply(Operation operation, Number a, Number b, Number c) {
  const Lane lane = gives_truth(operation) ? Lane::i64 : operation == Operation::select ? code_[b].lane : code_[a].lane;
  code_.push_back({.operation = operation, .lane = lane, .operands = {a, b, c}});
  return last();
}

Expression::Number Expression::convert(Number of, Lane lane) {
  if (code_[of].lane == lane) return of;
  code_.push_back({.operation = Operation::convert, .lane = lane, .operands = {of, 0, 0}});
  return last();
}

Expression::Number Expression::round_to(Number of, ElementType type) {
  code_.push_back({.operation = Operation::round_to, .lane = code_[of].lane, .operands = {of, 0, 0}, .type = type});
  return last();
}
Expression::Number Expression::as_float32(Number of) {
  code_[of].is_float32 = true;
  return of;
}

Expression Expression::with_input(std::size_t index, const Expression& inner) const {
  Expression joined;
  const std::size_t shift = inputs_ - 1;
  for (Instruction instruction : inner.code_) {
    if (instruction.operation == Operation::input) instruction.index += static_cast<std::uint32_t>(shift);
    joined.code_.push_back(instruction);
  }
  const Number result = joined.last();
  std::vector<Number> now;
  for (Instruction instruction : code_) {
    if (instruction.operation == Operation::input && instruction.index == index) {
      now.push_back(result);
      continue;
    }
    if (instruction.operation == Operation::input && instruction.index > index) --instruction.index;
    for (int i = 0; i < arity_of(instruction.operation); ++i) instruction.operands[i] = now[instruction.operands[i]];
    joined.code_.push_back(instruction);
    now.push_back(joined.last());
  }
  // The result is the last instruction: an expression that is nothing but its input ends with what the input is.
  if (now.back() != joined.last()) joined.code_.push_back(joined.code_[now.back()]);
  joined.inputs_ = shift + inner.inputs_;
  return joined;
}

Expression Expression::renumbered(std::span<const std::size_t> numbers) const {
  Expression result = *this;
  result.inputs_ = 0;
  for (Instruction& instruction : result.code_) {
    if (instruction.operation != Operation::input) continue;
    instruction.index = static_cast<std::uint32_t>(numbers[instruction.index]);
    result.inputs_ = std::max<std::size_t>(result.inputs_, instruction.index + 1);
  }
  return result;
}

Expression Expression::in_double(bool rounds) const {
  Expression result;
  result.inputs_ = inputs_;
  std::vector<Number> now;
  for (Instruction instruction : code_) {
    const bool is_marked = instruction.is_float32 && instruction.lane == Lane::f32;
    if (instruction.lane == Lane::f32) instruction.lane = Lane::f64;
    const bool is_rounding = instruction.operation == Operation::round_to && has_lane(instruction.type) &&
                             lane_of(instruction.type) == Lane::f32;
    if (is_rounding && !rounds) instruction.operation = Operation::convert;
    for (int k = 0; k < arity_of(instruction.operation); ++k) instruction.operands[k] = now[instruction.operands[k]];
    result.code_.push_back(instruction);
    if (is_marked && rounds) result.round_to(result.last(), ElementType::float32);
    now.push_back(result.last());
  }
  return result;
}

Expression Expression::behind(Number at) const {
  std::vector<bool> is_needed(code_.size(), false);
  is_needed.back() = true;
  for (std::size_t i = code_.size(); i-- > 0;) {
    if (!is_needed[i] || i == at) continue;
    for (int k = 0; k < arity_of(code_[i].operation); ++k) is_needed[code_[i].operands[k]] = true;
  }
  Expression rest;
  std::vector<Number> now(code_.size());
  for (std::size_t i = 0; i < code_.size(); ++i) {
    if (i == at) {
      now[i] = rest.input(0, code_[i].lane);
      continue;
    }
    if (!is_needed[i]) continue;
    Instruction instruction = code_[i];
    for (int k = 0; k < arity_of(instruction.operation); ++k) instruction.operands[k] = now[instruction.operands[k]];
    if (instruction.operation == Operation::input)
      rest.inputs_ = std::max<std::size_t>(rest.inputs_, instruction.index + 1);
    rest.code_.push_back(instruction);
    now[i] = rest.last();
  }
  return rest;
}

std::string Expression::text() const {
  std::vector<std::string> parts;
  for (const Instruction& instruction : code_) {
    if (instruction.operation == Operation::input) {
      parts.push_back(fmt::format("x{}", instruction.index));
    } else if (instruction.operation == Operation::constant) {
      parts.push_back(instruction.lane == Lane::i64 ? fmt::format("{}", instruction.integer)
                                                    : fmt::format("{}", static_cast<float>(instruction.real)));
    } else {
      std::string text(name_of(instruction.operation));
      if (instruction.operation == Operation::convert) text = lane_name(instruction.lane);
      if (instruction.operation == Operation::round_to) text = onnxkit::name_of(instruction.type);
      for (int i = 0; i < arity_of(instruction.operation); ++i)
        text += (i == 0 ? "(" : ", ") + parts[instruction.operands[i]];
      parts.push_back(text + ")");
    }
    constexpr std::size_t longest = 2000;  // an instruction that is used twice is written twice
    if (parts.back().size() > longest) parts.back() = "...";
  }
  return parts.empty() ? "" : parts.back();
}

}  // namespace onnxkit::plan
