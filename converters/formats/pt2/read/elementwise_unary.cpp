// Operators of one operand, element by element.
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

struct Unary {
  std::string_view aten, onnx;
};

constexpr Unary of_floating[] = {
    {"aten.sqrt.default", "Sqrt"},
    {"aten.reciprocal.default", "Reciprocal"},
    {"aten.exp.default", "Exp"},
    {"aten.log.default", "Log"},
    {"aten.sin.default", "Sin"},
    {"aten.cos.default", "Cos"},
    {"aten.tan.default", "Tan"},
    {"aten.asin.default", "Asin"},
    {"aten.acos.default", "Acos"},
    {"aten.atan.default", "Atan"},
    {"aten.sinh.default", "Sinh"},
    {"aten.cosh.default", "Cosh"},
    {"aten.asinh.default", "Asinh"},
    {"aten.acosh.default", "Acosh"},
    {"aten.atanh.default", "Atanh"},
    {"aten.tanh.default", "Tanh"},
    {"aten.erf.default", "Erf"},
    {"aten.sigmoid.default", "Sigmoid"},
    // other names of the same
    {"aten.arcsin.default", "Asin"},
    {"aten.arccos.default", "Acos"},
    {"aten.arctan.default", "Atan"},
    {"aten.arcsinh.default", "Asinh"},
    {"aten.arccosh.default", "Acosh"},
    {"aten.arctanh.default", "Atanh"},
    {"aten.special_erf.default", "Erf"},
    {"aten.special_expit.default", "Sigmoid"},
};
constexpr Unary of_numbers[] = {
    {"aten.abs.default", "Abs"},  {"aten.neg.default", "Neg"},      {"aten.sign.default", "Sign"},
    {"aten.sgn.default", "Sign"}, {"aten.absolute.default", "Abs"}, {"aten.negative.default", "Neg"},
};
/// These leave integers as they are.
constexpr Unary of_fractions[] = {
    {"aten.floor.default", "Floor"},
    {"aten.ceil.default", "Ceil"},
    {"aten.round.default", "Round"},
};

template <std::size_t count>
std::string_view onnx_name(const Unary (&table)[count], std::string_view aten) {
  for (const Unary& row : table)
    if (row.aten == aten) return row.onnx;
  return {};
}

void map_floating(Call& call) {
  call.result(call.onnx.emit(onnx_name(of_floating, call.node.op), {floating_operand(call)}));
}
void map_number(Call& call) { call.result(call.onnx.emit(onnx_name(of_numbers, call.node.op), {call.tensor("self")})); }

void map_fraction(Call& call) {
  const Val x = call.tensor("self");
  const bool has_fraction = is_floating(call.onnx.elem(x));
  call.result(has_fraction ? call.onnx.emit(onnx_name(of_fractions, call.node.op), {x}) : x);
}

void map_rsqrt(Call& call) {
  call.result(call.onnx.emit("Reciprocal", {call.onnx.emit("Sqrt", {floating_operand(call)})}));
}

void map_square(Call& call) {
  const Val x = call.tensor("self");
  call.result(call.onnx.emit("Mul", {x, x}));
}

void map_expm1(Call& call) {
  const Val x = floating_operand(call);
  call.result(call.onnx.emit("Sub", {call.onnx.emit("Exp", {x}), call.onnx.scalar(call.onnx.elem(x), 1)}));
}

void map_log1p(Call& call) {
  const Val x = floating_operand(call);
  call.result(call.onnx.emit("Log", {call.onnx.emit("Add", {x, call.onnx.scalar(call.onnx.elem(x), 1)})}));
}

/// Logarithms to the bases 2 and 10.
template <int base>
void map_log_base(Call& call) {
  constexpr double scale = base == 2 ? 1.4426950408889634 : 0.43429448190325183;
  const Val x = floating_operand(call);
  call.result(call.onnx.emit("Mul", {call.onnx.emit("Log", {x}), call.onnx.scalar(call.onnx.elem(x), scale)}));
}

void map_exp2(Call& call) {
  const Val x = floating_operand(call);
  call.result(call.onnx.emit("Pow", {call.onnx.scalar(call.onnx.elem(x), 2), x}));
}

void map_trunc(Call& call) {
  const Val x = call.tensor("self");
  if (!is_floating(call.onnx.elem(x))) return call.result(x);
  const Val size = call.onnx.emit("Floor", {call.onnx.emit("Abs", {x})});
  call.result(call.onnx.emit("Mul", {call.onnx.emit("Sign", {x}), size}));
}

void map_erfc(Call& call) {
  const Val x = floating_operand(call);
  call.result(call.onnx.emit("Sub", {call.onnx.scalar(call.onnx.elem(x), 1), call.onnx.emit("Erf", {x})}));
}

void map_not(Call& call) {
  call.result(call.onnx.emit("Not", {call.onnx.cast(call.tensor("self"), ElementType::boolean)}));
}

void map_bitwise_not(Call& call) {
  const Val x = call.tensor("self");
  call.result(call.onnx.emit(call.onnx.elem(x) == ElementType::boolean ? "Not" : "BitwiseNot", {x}));
}

void map_isnan(Call& call) { call.result(call.onnx.emit("IsNaN", {floating_operand(call)})); }
void map_isinf(Call& call) { call.result(call.onnx.emit("IsInf", {floating_operand(call)})); }

/// Bounds may be numbers, tensors, or missing.
void map_clamp(Call& call) {
  const Val x = call.tensor("self");
  ElementType type = call.declared_elem();
  if (type == ElementType::undefined) type = promoted(promoted(call, "self", "min"), promoted(call, "self", "max"));
  Val clamped = call.onnx.cast(x, type);
  if (call.has("min")) clamped = call.onnx.emit("Max", {clamped, call.number("min", type)});
  if (call.has("max")) clamped = call.onnx.emit("Min", {clamped, call.number("max", type)});
  call.result(clamped);
}

/// What changes nothing but autograd, memory or checks.
void map_same(Call& call) {
  const Val x = call.tensor(call.has("input") ? "input" : "self");
  if (call.flag("train", false) || call.flag("training", false))
    return call.refuse("dropout in training draws random numbers", "call eval() on the module before exporting it");
  call.results(std::vector<Val>(call.node.outputs.size(), x));
}

/// Checks of the exporter have no result.
void map_nothing(Call& call) { call.results(std::vector<Val>(call.node.outputs.size(), Val{})); }

}  // namespace

void register_elementwise_unary(Mappings& mappings);
void register_elementwise_unary(Mappings& mappings) {
  for (const Unary& row : of_floating) mappings.add(row.aten, map_floating);
  for (const Unary& row : of_numbers) mappings.add(row.aten, map_number);
  for (const Unary& row : of_fractions) mappings.add(row.aten, map_fraction);
  mappings.add("aten.rsqrt.default", map_rsqrt);
  mappings.add("aten.square.default", map_square);
  mappings.add("aten.expm1.default", map_expm1);
  mappings.add("aten.log1p.default", map_log1p);
  mappings.add("aten.log2.default", map_log_base<2>);
  mappings.add("aten.log10.default", map_log_base<10>);
  mappings.add("aten.exp2.default", map_exp2);
  mappings.add("aten.trunc.default", map_trunc);
  mappings.add("aten.erfc.default", map_erfc);
  mappings.add("aten.logical_not.default", map_not);
  mappings.add("aten.bitwise_not.default", map_bitwise_not);
  mappings.add("aten.isnan.default", map_isnan);
  mappings.add("aten.isinf.default", map_isinf);
  mappings.add({"aten.clamp.default", "aten.clamp.Tensor", "aten.clamp_min.default", "aten.clamp_max.default",
                "aten.clamp_min.Tensor", "aten.clamp_max.Tensor"},
               map_clamp);
  mappings.add(
      {"aten.alias.default", "aten.detach.default", "aten.clone.default", "aten.contiguous.default",
       "aten.lift_fresh_copy.default", "aten.alias_copy.default", "aten.positive.default", "aten.dropout.default",
       "aten.feature_dropout.default", "aten.alpha_dropout.default", "aten.native_dropout.default"},
      map_same);
  mappings.add({"aten._assert_tensor_metadata.default", "aten._assert_async.msg", "aten._assert_scalar.default",
                "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default"},
               map_nothing);
}

}  // namespace onnxkit::pt2
