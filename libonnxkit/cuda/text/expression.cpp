#include "libonnxkit/cuda/text/expression.h"

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

using plan::Instruction;
using plan::Operation;

/// How an operation is written: operands stand for {0}, {1}, {2}. Empty: it has no such form.
struct Form {
  std::string_view real, integer;
};

Form unary_form(Operation operation) {
  switch (operation) {
    case Operation::negate:
      return {"-{0}", "negated({0})"};
    case Operation::absolute:
      return {"absolute({0})", "absolute({0})"};
    case Operation::exponential:
      return {"exp_of({0})", ""};
    case Operation::logarithm:
      return {"log_of({0})", ""};
    case Operation::square_root:
      return {"sqrt_of({0})", ""};
    case Operation::reciprocal:
      return {"1 / {0}", ""};
    case Operation::tanh:
      return {"tanh_of({0})", ""};
    case Operation::erf:
      return {"erf_of({0})", ""};
    case Operation::sigmoid:
      return {"sigmoid_of({0})", ""};
    case Operation::sine:
      return {"sin_of({0})", ""};
    case Operation::cosine:
      return {"cos_of({0})", ""};
    case Operation::tangent:
      return {"tan_of({0})", ""};
    case Operation::arc_sine:
      return {"asin_of({0})", ""};
    case Operation::arc_cosine:
      return {"acos_of({0})", ""};
    case Operation::arc_tangent:
      return {"atan_of({0})", ""};
    case Operation::hyperbolic_sine:
      return {"sinh_of({0})", ""};
    case Operation::hyperbolic_cosine:
      return {"cosh_of({0})", ""};
    case Operation::arc_hyperbolic_sine:
      return {"asinh_of({0})", ""};
    case Operation::arc_hyperbolic_cosine:
      return {"acosh_of({0})", ""};
    case Operation::arc_hyperbolic_tangent:
      return {"atanh_of({0})", ""};
    case Operation::floor:
      return {"floor_of({0})", "{0}"};
    case Operation::ceiling:
      return {"ceil_of({0})", "{0}"};
    case Operation::round_half_even:
      return {"round_of({0})", "{0}"};
    case Operation::truncate:
      return {"trunc_of({0})", "{0}"};
    case Operation::sign:
      return {"sign_of({0})", "sign_of({0})"};
    case Operation::is_nan:
      return {"{0} != {0}", "0"};
    case Operation::is_infinite:
      return {"is_infinite({0})", "0"};
    case Operation::logical_not:
      return {"", "{0} == 0"};
    case Operation::bitwise_not:
      return {"", "~{0}"};
    default:
      return {};
  }
}

Form binary_form(Operation operation) {
  switch (operation) {
    case Operation::add:
      return {"{0} + {1}", "plus({0}, {1})"};
    case Operation::subtract:
      return {"{0} - {1}", "minus({0}, {1})"};
    case Operation::multiply:
      return {"{0} * {1}", "times({0}, {1})"};
    case Operation::divide:
      return {"{0} / {1}", "over({0}, {1})"};
    case Operation::minimum:
      return {"smaller({0}, {1})", "smaller({0}, {1})"};
    case Operation::maximum:
      return {"larger({0}, {1})", "larger({0}, {1})"};
    case Operation::power:
      return {"power({0}, {1})", "power({0}, {1})"};
    case Operation::modulo:
      return {"modulo({0}, {1})", "modulo({0}, {1})"};
    case Operation::floating_modulo:
      return {"remainder_of({0}, {1})", "remainder_of({0}, {1})"};
    case Operation::equal:
      return {"{0} == {1}", "{0} == {1}"};
    case Operation::less:
      return {"{0} < {1}", "{0} < {1}"};
    case Operation::less_or_equal:
      return {"{0} <= {1}", "{0} <= {1}"};
    case Operation::logical_and:
      return {"", "{0} != 0 && {1} != 0"};
    case Operation::logical_or:
      return {"", "{0} != 0 || {1} != 0"};
    case Operation::logical_xor:
      return {"", "({0} != 0) != ({1} != 0)"};
    case Operation::bitwise_and:
      return {"", "{0} & {1}"};
    case Operation::bitwise_or:
      return {"", "{0} | {1}"};
    case Operation::bitwise_xor:
      return {"", "{0} ^ {1}"};
    case Operation::shift_left:
      return {"", "shifted_left({0}, {1})"};
    case Operation::shift_right:
      return {"", "shifted_right({0}, {1})"};
    case Operation::select:
      return {"{0} != 0 ? {1} : {2}", "{0} != 0 ? {1} : {2}"};
    default:
      return {};
  }
}

/// Which instructions the result hangs on.
std::vector<bool> needed(const std::vector<Instruction>& code) {
  std::vector<bool> is_needed(code.size(), false);
  is_needed.back() = true;
  for (std::size_t i = code.size(); i-- > 0;) {
    for (int k = 0; is_needed[i] && k < plan::arity_of(code[i].operation); ++k) is_needed[code[i].operands[k]] = true;
  }
  return is_needed;
}

std::string read_input(const InputText& input, Lane lane) {
  if (!input.is_number) return loaded(input.type, lane, input.text);
  if (plan::lane_of(input.type) == lane) return input.text;
  return fmt::format("converted<{}>({})", lane_type(lane), input.text);
}

/// The right side of an instruction's statement; empty when it cannot be written.
std::string written(const std::vector<Instruction>& code, const Instruction& instruction,
                    std::span<const InputText> inputs, std::span<const std::string> names) {
  const Lane lane = instruction.lane;
  const auto operand = [&](int k) -> const std::string& { return names[instruction.operands[k]]; };
  switch (instruction.operation) {
    case Operation::input:
      return instruction.index < inputs.size() ? read_input(inputs[instruction.index], lane) : "";
    case Operation::constant:
      return lane == Lane::i64 ? literal(instruction.integer) : literal(lane, instruction.real);
    case Operation::convert:
      return fmt::format("converted<{}>({})", lane_type(lane), operand(0));
    case Operation::round_to:
      if (stored_type(instruction.type).empty()) return "";
      return loaded(instruction.type, lane, stored(instruction.type, lane, operand(0)));
    default:
      break;
  }
  const int arity = plan::arity_of(instruction.operation);
  const Form form = arity == 1 ? unary_form(instruction.operation) : binary_form(instruction.operation);
  const Lane of = code[instruction.operands[arity == 3 ? 1 : 0]].lane;
  const std::string_view text = of == Lane::i64 ? form.integer : form.real;
  const auto name = [&](int k) { return k < arity ? operand(k) : std::string(); };
  return text.empty() ? "" : fmt::format(fmt::runtime(text), name(0), name(1), name(2));
}

}  // namespace

Result<ExpressionText> write_expression(const plan::Expression& expression, std::span<const InputText> inputs,
                                        std::string_view indent) {
  const auto& code = expression.code();
  if (code.empty()) return make_error("not-supported", "an expression of nothing");
  const std::vector<bool> is_needed = needed(code);
  ExpressionText text;
  std::vector<std::string> names(code.size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!is_needed[i]) continue;
    std::string right = written(code, code[i], inputs, names);
    if (right.empty()) {
      return make_error("not-supported",
                        fmt::format("generated kernels have no {} of {}", plan::name_of(code[i].operation),
                                    code[i].lane == Lane::i64 ? "integers" : "real numbers"));
    }
    if (code[i].operation == Operation::constant && right.front() != '-') {
      names[i] = std::move(right);
      continue;
    }
    names[i] = fmt::format("v{}", i);
    text.statements += fmt::format("{}const {} {} = {};\n", indent, lane_type(code[i].lane), names[i], right);
  }
  text.result = names.back();
  text.lane = code.back().lane;
  return text;
}

}  // namespace onnxkit::cuda
