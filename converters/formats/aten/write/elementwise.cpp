// Operators on elements, with broadcasting.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "converters/formats/aten/lower.h"
#include "converters/formats/pt2/dtype.h"
#include "onnxkit/element_type.h"

namespace onnxkit::aten {
namespace {

using foreign::Counterpart;

constexpr Counterpart unary_names[] = {
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

constexpr Counterpart binary_names[] = {
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

/// PyTorch keeps unsigned integers of 16 bits and more, but computes with int64. Casts of those of 64 bits keep the bits.
bool is_only_stored(ElementType elem) {
  return elem == ElementType::uint16 || elem == ElementType::uint32 || elem == ElementType::uint64;
}

ValueId as_int64(WriteCall& call, std::size_t input) { return cast(call, call.input(input), ElementType::int64); }

/// The bits that the type has.
void give_unsigned(WriteCall& call, ValueId wide) {
  const ElementType elem = call.output_type().elem;
  if (elem == ElementType::boolean) return call.result(wide);
  if (elem == ElementType::uint64) return call.result(cast(call, wide, elem));
  const ValueId mask = call.scalar(ElementType::int64, elem == ElementType::uint16 ? 0xffff : 0xffffffff);
  call.result(cast(call, binary(call, "aten.bitwise_and.Tensor", wide, mask, call.type_of(wide)), elem));
}

/// Of int64 with the bits of uint64, in an order that is that of int64.
ValueId in_signed_order(WriteCall& call, ValueId x) {
  const ValueId sign = call.scalar(ElementType::int64, -9223372036854775808.0);
  return binary(call, "aten.bitwise_xor.Tensor", x, sign, call.type_of(x));
}

/// An operator on unsigned integers. Products, sums and bits of uint64 are those of int64; what depends on its order is compared in another.
void compute_unsigned(WriteCall& call, std::string_view op) {
  const bool is_long = call.elem(0) == ElementType::uint64;
  const bool has_order = op.find(".lt.") != op.npos || op.find(".le.") != op.npos || op.find(".gt.") != op.npos ||
                         op.find(".ge.") != op.npos || op.find("mum.") != op.npos;
  ValueId x = as_int64(call, 0);
  const Type wide = with_elem(call.output_type(), ElementType::int64);
  for (std::size_t i = 1; i < call.node.inputs.size(); ++i) {
    ValueId y = as_int64(call, i);
    const bool is_flipped = is_long && has_order;
    if (is_flipped) x = in_signed_order(call, x);
    if (is_flipped) y = in_signed_order(call, y);
    x = binary(call, op, x, y, call.output_type().elem == ElementType::boolean ? call.output_type() : wide);
    if (is_flipped && op.find("mum.") != op.npos) x = in_signed_order(call, x);
  }
  if (call.node.inputs.size() == 1) x = call.emit(op, {{"self", x}}, wide);
  give_unsigned(call, x);
}

/// Quotients, whose operands are below 2^32.
bool compute_quotient(WriteCall& call, std::string_view op) {
  const ElementType elem = call.elem(0);
  if (elem != ElementType::uint16 && elem != ElementType::uint32) return false;
  std::vector<Given> given = {{"self", as_int64(call, 0)}, {"other", as_int64(call, 1)}};
  if (op == "aten.div.Tensor_mode") given.push_back({"rounding_mode", "trunc"});
  give_unsigned(call, call.emit(op, std::move(given), with_elem(call.output_type(), ElementType::int64)));
  return true;
}

void map_unary_elementwise(WriteCall& call) {
  if (call.node.op_type == "BitwiseNot" && is_only_stored(call.elem(0)))
    return compute_unsigned(call, "aten.bitwise_not.default");
  if (!has_arithmetic(call, call.elem(0))) return;
  call.result(call.emit(foreign::counterpart(unary_names, call.node), {{"self", call.input(0)}}, call.output_type()));
}

void map_binary_elementwise(WriteCall& call) {
  if (is_only_stored(call.elem(0))) return compute_unsigned(call, foreign::counterpart(binary_names, call.node));
  if (!has_arithmetic(call, call.elem(0))) return;
  const ValueId a = call.input(0), b = call.input(1);
  call.result(binary(call, foreign::counterpart(binary_names, call.node), a, b, call.output_type()));
}

/// ONNX divides integers towards zero.
void map_div(WriteCall& call) {
  if (compute_quotient(call, "aten.div.Tensor_mode")) return;
  if (!has_arithmetic(call, call.elem(0))) return;
  const ValueId a = call.input(0), b = call.input(1);
  if (!is_integer(call.elem(0))) return call.result(binary(call, "aten.div.Tensor", a, b, call.output_type()));
  call.result(
      call.emit("aten.div.Tensor_mode", {{"self", a}, {"other", b}, {"rounding_mode", "trunc"}}, call.output_type()));
}

void map_mod(WriteCall& call) {
  if (compute_quotient(call, "aten.remainder.Tensor")) return;
  if (!has_arithmetic(call, call.elem(0))) return;
  const bool truncates = call.integer("fmod", 0) != 0;
  const ValueId a = call.input(0), b = call.input(1);
  call.result(binary(call, truncates ? "aten.fmod.Tensor" : "aten.remainder.Tensor", a, b, call.output_type()));
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
  const bool is_left = call.text("direction") == "LEFT";
  if (is_only_stored(call.elem(0)) && (is_left || call.elem(0) != ElementType::uint64))
    return compute_unsigned(call, is_left ? "aten.bitwise_left_shift.Tensor" : "aten.bitwise_right_shift.Tensor");
  if (!has_arithmetic(call, call.elem(0))) return;
  const ValueId a = call.input(0), b = call.input(1);
  call.result(binary(call, is_left ? "aten.bitwise_left_shift.Tensor" : "aten.bitwise_right_shift.Tensor", a, b,
                     call.output_type()));
}

/// Sum, Mean, Max and Min of any number of tensors.
void fold(WriteCall& call, std::string_view op) {
  if (is_only_stored(call.elem(0)) && call.node.inputs.size() > 1) return compute_unsigned(call, op);
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
  for (const Counterpart& names : unary_names) writers.add(names.first, map_unary_elementwise);
  for (const Counterpart& names : binary_names) writers.add(names.first, map_binary_elementwise);
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
