#pragma once

#include <cstdint>
#include <span>

#include "converters/formats/pt2/promotion.h"

// Special functions that ONNX has no operator for, computed in double for narrower types.
namespace onnxkit::pt2 {

/// Arithmetic of doubles.
struct Doubles {
  foreign::OnnxBuilder& onnx;

  foreign::Val number(double x) const { return onnx.scalar(ElementType::float64, x); }
  foreign::Val sum(foreign::Val a, foreign::Val b) const { return onnx.emit("Add", {a, b}); }
  foreign::Val sum(foreign::Val a, double b) const { return sum(a, number(b)); }
  foreign::Val difference(foreign::Val a, foreign::Val b) const { return onnx.emit("Sub", {a, b}); }
  foreign::Val difference(double a, foreign::Val b) const { return difference(number(a), b); }
  foreign::Val product(foreign::Val a, foreign::Val b) const { return onnx.emit("Mul", {a, b}); }
  foreign::Val product(foreign::Val a, double b) const { return product(a, number(b)); }
  foreign::Val quotient(foreign::Val a, foreign::Val b) const { return onnx.emit("Div", {a, b}); }
  foreign::Val quotient(double a, foreign::Val b) const { return quotient(number(a), b); }
  foreign::Val is_less(foreign::Val a, double b) const { return onnx.emit("Less", {a, number(b)}); }
  foreign::Val equals(foreign::Val a, double b) const { return onnx.emit("Equal", {a, number(b)}); }
  foreign::Val chosen(foreign::Val condition, foreign::Val a, foreign::Val b) const {
    return onnx.emit("Where", {condition, a, b});
  }
  foreign::Val of(std::string_view op, foreign::Val x) const { return onnx.emit(op, {x}); }
  /// The coefficients from the constant on.
  foreign::Val polynomial(foreign::Val x, std::span<const double> coefficients) const {
    foreign::Val value = number(coefficients.back());
    for (std::size_t i = coefficients.size() - 1; i-- > 0;) value = sum(product(value, x), coefficients[i]);
    return value;
  }
};

/// The function of the argument in doubles, as a result of the argument's type.
template <typename Function>
void give_special(foreign::Call& call, const Function& function) {
  const foreign::Val x = floating_operand(call);
  const ElementType type = call.onnx.elem(x);
  if (type == ElementType::float64)
    return call.refuse("it has no counterpart in ONNX, and is approximated as precisely as float32 is");
  const foreign::Val result = function(Doubles{call.onnx}, call.onnx.cast(x, ElementType::float64));
  call.result(call.onnx.cast(result, type));
}

using SpecialFunction = foreign::Val (*)(const Doubles&, foreign::Val);

}  // namespace onnxkit::pt2
