// Operators on elements, with broadcasting.
#include <limits>

#include "converters/foreign/tensorflow_family/operators.h"

namespace onnxkit::tensorflow_family {
namespace {

using foreign::Counterpart;
using foreign::counterpart;

constexpr Counterpart binary_names[] = {{"Add", "AddV2"}, {"Sub", "Sub"}};
constexpr Counterpart comparison_names[] = {
    {"Equal", "Equal"},
    {"Less", "Less"},
    {"LessOrEqual", "LessEqual"},
    {"Greater", "Greater"},
    {"GreaterOrEqual", "GreaterEqual"},
};

void map_binary_elementwise(WriteCall& call) {
  const ValueId a = operand(call, 0), b = operand(call, 1);
  give(call, binary(call, counterpart(binary_names, call.node), a, b));
}

/// Of unsigned integers of 64 bits the kernel compares as signed ones; the others fit int64.
void map_comparison(WriteCall& call) {
  const bool is_whole = call.elem(0) == ElementType::uint64;
  const auto side = [&](std::size_t i) { return is_whole ? call.input(i) : operand(call, i); };
  const ValueId a = side(0), b = side(1);
  call.result(compare(call, counterpart(comparison_names, call.node), a, b));
}

void map_logic(WriteCall& call) {
  const std::string_view op = call.node.op_type.view();
  const std::string_view name = op == "And" ? "LogicalAnd" : op == "Or" ? "LogicalOr" : "NotEqual";
  const ValueId a = call.input(0), b = call.input(1);
  call.result(compare(call, name, a, b));
}

void map_not(WriteCall& call) { call.result(unary(call, "LogicalNot", call.input(0))); }

void map_reciprocal(WriteCall& call) {
  // 1 / sqrt(x) has an operator of its own.
  if (const auto root = call.producer(0); root && root->node.op_type == "Sqrt")
    return call.result(unary(call, "Rsqrt", WriteCall(*root).input(0)));
  if (!call.dialect().is_lite) return call.result(unary(call, "Reciprocal", call.input(0)));
  const ValueId one = call.scalar(call.elem(0), 1);
  call.result(binary(call, "RealDiv", one, call.input(0)));
}

void fold(WriteCall& call, std::string_view op) {
  ValueId result = operand(call, 0);
  for (std::size_t i = 1; i < call.node.inputs.size(); ++i) result = binary(call, op, result, operand(call, i));
  give(call, result);
}
void map_sum(WriteCall& call) { fold(call, "AddV2"); }
void extreme(WriteCall& call, std::string_view op) {
  if (call.elem(0) == ElementType::uint64 && call.node.inputs.size() > 1)
    return call.refuse("its kernel does not compare uint64");
  fold(call, op);
}
void map_max(WriteCall& call) { extreme(call, "Maximum"); }
void map_min(WriteCall& call) { extreme(call, "Minimum"); }

void map_mean(WriteCall& call) {
  ValueId sum = call.input(0);
  for (std::size_t i = 1; i < call.node.inputs.size(); ++i) sum = binary(call, "AddV2", sum, call.input(i));
  call.result(binary(call, "RealDiv", sum, static_cast<double>(call.node.inputs.size())));
}

void map_where(WriteCall& call) {
  const ValueId condition = call.input(0), then = call.input(1), otherwise = call.input(2);
  call.result(select(call, condition, then, otherwise));
}

void map_clip(WriteCall& call) {
  const auto least = call.has(1) ? call.known_real(1) : std::nullopt;
  const auto greatest = call.has(2) ? call.known_real(2) : std::nullopt;
  ValueId x = operand(call, 0);
  const ElementType elem = call.type_of(x).elem;
  const bool is_float = elem == ElementType::float32;
  const bool is_open = !call.has(2) || (greatest && *greatest >= std::numeric_limits<float>::max());
  if (is_float && least == 0 && is_open) return call.result(unary(call, "Relu", x));
  if (is_float && least == 0 && greatest == 6) return call.result(unary(call, "Relu6", x));
  if (is_float && least == -1 && greatest == 1 && call.dialect().is_lite)
    return call.result(unary(call, "RELU_N1_TO_1", x));
  if (call.elem(0) == ElementType::uint64) return call.refuse("its kernel does not compare uint64");
  if (call.has(1)) x = binary(call, "Maximum", x, cast(call, call.input(1), elem));
  if (call.has(2)) x = binary(call, "Minimum", x, cast(call, call.input(2), elem));
  give(call, x);
}

void map_identity(WriteCall& call) { call.result(call.input(0)); }

}  // namespace

void register_elementwise(Writers& writers);
void register_elementwise(Writers& writers) {
  for (const Counterpart& names : binary_names) writers.add(names.first, map_binary_elementwise);
  for (const Counterpart& names : comparison_names) writers.add(names.first, map_comparison);
  writers.add({"And", "Or", "Xor"}, map_logic);
  writers.add("Not", map_not);
  writers.add("Reciprocal", map_reciprocal);
  writers.add("Sum", map_sum);
  writers.add("Max", map_max);
  writers.add("Min", map_min);
  writers.add("Mean", map_mean);
  writers.add("Where", map_where);
  writers.add("Clip", map_clip);
  writers.add("Identity", map_identity);
}

}  // namespace onnxkit::tensorflow_family
