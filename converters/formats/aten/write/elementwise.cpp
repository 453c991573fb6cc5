// Operators on elements, with broadcasting.

#include <fmt/format.h>

#include "converters/foreign/write_types.h"
#include "converters/formats/aten/lower.h"
#include "converters/formats/pt2/dtype.h"
#include "onnxkit/element_type.h"

namespace onnxkit::aten {
namespace {

using foreign::counterpart;
using Names = foreign::OperatorNames;

constexpr Names unary_names[] = {
    {"Abs", "aten.abs.default"},
    {"Neg", "aten.neg.default"},
    {"Sqrt", "aten.sqrt.default"},
    {"Exp", "aten.exp.default"},
    {"Log", "aten.log.default"},
    {"Reciprocal", "aten.reciprocal.default"},
    {"Floor", "aten.floor.default"},
    {"Ceil", "aten.ceil.default"},
    {"Round", "aten.round.default"},
    {"Sign", "aten.sign.default"},
    {"Erf", "aten.erf.default"},
    {"Sin", "aten.sin.default"},
    {"Cos", "aten.cos.default"},
    {"Tan", "aten.tan.default"},
    {"Asin", "aten.asin.default"},
    {"Acos", "aten.acos.default"},
    {"Atan", "aten.atan.default"},
    {"Sinh", "aten.sinh.default"},
    {"Cosh", "aten.cosh.default"},
    {"Asinh", "aten.asinh.default"},
    {"Acosh", "aten.acosh.default"},
    {"Atanh", "aten.atanh.default"},
    {"IsNaN", "aten.isnan.default"},
    {"Not", "aten.logical_not.default"},
    {"BitwiseNot", "aten.bitwise_not.default"},
};

constexpr Names binary_names[] = {
    {"Add", "aten.add.Tensor"},
    {"Sub", "aten.sub.Tensor"},
    {"Mul", "aten.mul.Tensor"},
    {"Equal", "aten.eq.Tensor"},
    {"Less", "aten.lt.Tensor"},
    {"LessOrEqual", "aten.le.Tensor"},
    {"Greater", "aten.gt.Tensor"},
    {"GreaterOrEqual", "aten.ge.Tensor"},
    {"And", "aten.logical_and.default"},
    {"Or", "aten.logical_or.default"},
    {"Xor", "aten.logical_xor.default"},
    {"BitwiseAnd", "aten.bitwise_and.Tensor"},
    {"BitwiseOr", "aten.bitwise_or.Tensor"},
    {"BitwiseXor", "aten.bitwise_xor.Tensor"},
};

void map_unary_elementwise(WriteCall& call) {
  if (!has_arithmetic(call, call.elem(0))) return;
  call.result(call.emit(counterpart(unary_names, call), {{"self", call.input(0)}}, call.output_type()));
}

void map_binary_elementwise(WriteCall& call) {
  if (!has_arithmetic(call, call.elem(0))) return;
  call.result(binary(call, counterpart(binary_names, call), call.input(0), call.input(1), call.output_type()));
}

/// ONNX divides integers towards zero.
void map_div(WriteCall& call) {
  if (!has_arithmetic(call, call.elem(0))) return;
  if (!is_integer(call.elem(0)))
    return call.result(binary(call, "aten.div.Tensor", call.input(0), call.input(1), call.output_type()));
  call.result(call.emit("aten.div.Tensor_mode",
                        {{"self", call.input(0)}, {"other", call.input(1)}, {"rounding_mode", "trunc"}},
                        call.output_type()));
}

void map_mod(WriteCall& call) {
  if (!has_arithmetic(call, call.elem(0))) return;
  const bool truncates = call.integer("fmod", 0) != 0;
  call.result(binary(call, truncates ? "aten.fmod.Tensor" : "aten.remainder.Tensor", call.input(0), call.input(1),
                     call.output_type()));
}

/// The result has the type of the base.
void map_pow(WriteCall& call) {
  if (!has_arithmetic(call, call.elem(0))) return;
  const ElementType elem = call.elem(0);
  ValueId base = call.input(0), exponent = call.input(1);
  if (is_integer(elem) && is_integer(call.elem(1))) {
    exponent = cast(call, exponent, elem);
  } else if (is_integer(elem)) {
    base = cast(call, base, ElementType::float64);
    exponent = cast(call, exponent, ElementType::float64);
  } else {
    exponent = cast(call, exponent, elem);
  }
  const Type type = with_elem(call.output_type(), call.type_of(base).elem);
  call.result(cast(call, call.emit("aten.pow.Tensor_Tensor", {{"self", base}, {"exponent", exponent}}, type), elem));
}

void map_bit_shift(WriteCall& call) {
  if (!has_arithmetic(call, call.elem(0))) return;
  const bool is_left = call.text("direction") == "LEFT";
  call.result(binary(call, is_left ? "aten.bitwise_left_shift.Tensor" : "aten.bitwise_right_shift.Tensor",
                     call.input(0), call.input(1), call.output_type()));
}

/// Sum, Mean, Max and Min of any number of tensors.
void fold(WriteCall& call, std::string_view op) {
  if (!has_arithmetic(call, call.elem(0))) return;
  std::vector<ValueId> operands = call.inputs();
  ValueId result = operands.front();
  for (std::size_t i = 1; i < operands.size(); ++i)
    result = binary(call, op, result, operands[i],
                    i + 1 == operands.size() ? call.output_type() : Type::tensor(call.elem(0)));
  if (operands.size() == 1) result = unary(call, "aten.clone.default", result);
  call.result(result);
}
void map_sum(WriteCall& call) { fold(call, "aten.add.Tensor"); }
void map_max(WriteCall& call) { fold(call, "aten.maximum.default"); }
void map_min(WriteCall& call) { fold(call, "aten.minimum.default"); }

void map_mean(WriteCall& call) {
  if (!has_arithmetic(call, call.elem(0))) return;
  const auto count = static_cast<double>(call.node.inputs.size());
  ValueId sum = call.input(0);
  for (std::size_t i = 1; i < call.node.inputs.size(); ++i)
    sum = binary(call, "aten.add.Tensor", sum, call.input(i), call.output_type());
  call.result(binary(call, "aten.div.Tensor", sum, call.scalar(call.elem(0), count), call.output_type()));
}

void map_where(WriteCall& call) {
  call.result(call.emit("aten.where.self",
                        {{"condition", call.input(0)}, {"self", call.input(1)}, {"other", call.input(2)}},
                        call.output_type()));
}

void map_clip(WriteCall& call) {
  if (!has_arithmetic(call, call.elem(0))) return;
  ValueId x = call.input(0);
  if (call.has(1)) x = binary(call, "aten.maximum.default", x, call.input(1), call.output_type());
  if (call.has(2)) x = binary(call, "aten.minimum.default", x, call.input(2), call.output_type());
  if (!call.has(1) && !call.has(2)) x = unary(call, "aten.clone.default", x);
  call.result(x);
}

/// Of an 8-bit float with a sign; 0 for other types. Beyond it PyTorch gives what ONNX gives without saturation.
double float8_limit(ElementType elem) {
  if (elem == ElementType::float8e4m3fn) return 448;
  if (elem == ElementType::float8e4m3fnuz) return 240;
  return elem == ElementType::float8e5m2 || elem == ElementType::float8e5m2fnuz ? 57344 : 0;
}

void map_cast(WriteCall& call) {
  const ElementType to = call.output_type().elem;
  if (to == ElementType::undefined || to == ElementType::string || call.elem(0) == ElementType::string)
    return call.refuse("PyTorch has no tensors of text");
  if (pt2::scalar_type_of(to) == 0) return call.refuse(fmt::format("PyTorch has no tensors of {}", name_of(to)));
  if (to == ElementType::float8e4m3fn && call.integer("saturate", 1) == 0)
    return call.refuse("PyTorch makes the greatest number of what does not fit float8e4m3fn", "set its saturate to 1");
  ValueId x = call.input(0);
  if (const double greatest = float8_limit(to); greatest > 0 && call.integer("saturate", 1) != 0)
    x = clamp(call, cast(call, x, ElementType::float32), -greatest, greatest);
  call.result(call.emit("aten.to.dtype", {{"self", x}, {"dtype", to}}, call.output_type()));
}

void map_is_inf(WriteCall& call) {
  const bool positive = call.integer("detect_positive", 1) != 0, negative = call.integer("detect_negative", 1) != 0;
  const ValueId x = call.input(0);
  if (positive && negative) return call.result(call.emit("aten.isinf.default", {{"self", x}}, call.output_type()));
  if (!positive && !negative)
    return call.result(
        call.emit("aten.zeros_like.default", {{"self", x}, {"dtype", ElementType::boolean}}, call.output_type()));
  call.result(
      call.emit(positive ? "aten.isposinf.default" : "aten.isneginf.default", {{"self", x}}, call.output_type()));
}

}  // namespace

void register_elementwise(Writers& writers);
void register_elementwise(Writers& writers) {
  for (const Names& names : unary_names) writers.add(names.first, map_unary_elementwise);
  for (const Names& names : binary_names) writers.add(names.first, map_binary_elementwise);
  writers.add("Div", map_div);
  writers.add("Mod", map_mod);
  writers.add("Pow", map_pow);
  writers.add("BitShift", map_bit_shift);
  writers.add("Sum", map_sum);
  writers.add("Max", map_max);
  writers.add("Min", map_min);
  writers.add("Mean", map_mean);
  writers.add("Where", map_where);
  writers.add("Clip", map_clip);
  writers.add({"Cast", "CastLike"}, map_cast);
  writers.add("IsInf", map_is_inf);
}

}  // namespace onnxkit::aten
