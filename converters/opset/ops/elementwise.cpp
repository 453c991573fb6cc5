#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/select.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::opset {
namespace {

/// The last node of a composition writes the output of the node that goes.
void finish_as(Step& step, std::string_view op, std::vector<ValueId> inputs) {
  step.emit(op, std::move(inputs), {step.output(0)});
  step.replace();
}

// ---- activations, as their function bodies have them

/// A number of an attribute in the type of the elements, where that holds it.
ValueId parameter(Step& step, ElementType type, float value, std::string_view name) {
  if (std::isfinite(value) && std::abs(value) > largest_finite(type))
    refuse(fmt::format("{} is too large for {}", name, name_of(type)));
  return step.number(type, value, name);
}

/// Where x / alpha may overflow, only numbers below 0 take that way.
void celu(Step& step) {
  const float alpha = step.real("alpha");
  if (!(alpha > 0)) refuse("rewriting Celu as Elu requires a positive alpha");
  const ValueId x = step.input(0);
  const ElementType type = step.need_elem(x);
  const ValueId a = parameter(step, type, alpha, "alpha");
  const bool is_small = alpha < 0x1p-10F;
  const ValueId bent = is_small ? step.add("Min", {x, step.number(type, 0, "zero")}, {}, "falling") : x;
  const ValueId elu = step.add("Elu", {step.add("Div", {bent, a}, {}, "scaled")}, {{"alpha", 1.0F}}, "elu");
  if (!is_small) return finish_as(step, "Mul", {a, elu});
  finish_as(step, "Add", {step.add("Relu", {x}, {}, "rising"), step.add("Mul", {a, elu}, {}, "bent")});
}

void celu_of_other_types(Step& step) {
  if (take_detour(step, through_float32({ElementType::float16, ElementType::bfloat16}))) return;
  if (step.elem(step.input(0)) != ElementType::float32) celu(step);
}

void gelu(Step& step) {
  const ValueId x = step.input(0);
  const ElementType type = step.need_elem(x);
  const ValueId one = step.number(type, 1, "one");
  ValueId share = ValueId::none;
  if (step.string("approximate") == "tanh") {
    const ValueId cube = step.add("Pow", {x, step.number(type, 3, "three")}, {}, "cube");
    const ValueId small = step.add("Mul", {step.number(type, 0.044715F, "factor"), cube}, {}, "small");
    const ValueId root = step.add("Sqrt", {step.number(type, 0.63661975F, "two_over_pi")}, {}, "root");
    const ValueId argument = step.add("Mul", {root, step.add("Add", {x, small}, {}, "sum")}, {}, "argument");
    share = step.add("Add", {one, step.add("Tanh", {argument}, {}, "tanh")}, {}, "share");
  } else {
    const ValueId root = step.add("Sqrt", {step.number(type, 2, "two")}, {}, "root");
    const ValueId erf = step.add("Erf", {step.add("Div", {x, root}, {}, "argument")}, {}, "erf");
    share = step.add("Add", {one, erf}, {}, "share");
  }
  finish_as(step, "Mul", {step.add("Mul", {step.number(type, 0.5, "half"), x}, {}, "halved"), share});
}

void hard_swish(Step& step) {
  const ValueId gate = step.add("HardSigmoid", {step.input(0)}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}}, "gate");
  finish_as(step, "Mul", {step.input(0), gate});
}

void mish(Step& step) {
  const ValueId softplus = step.add("Softplus", {step.input(0)}, {}, "softplus");
  finish_as(step, "Mul", {step.input(0), step.add("Tanh", {softplus}, {}, "gate")});
}

void swish(Step& step) {
  const ValueId x = step.input(0);
  const float alpha = step.real("alpha");
  const ValueId scaled =
      alpha == 1 ? x : step.add("Mul", {parameter(step, step.need_elem(x), alpha, "alpha"), x}, {}, "scaled");
  finish_as(step, "Mul", {x, step.add("Sigmoid", {scaled}, {}, "gate")});
}

void thresholded_relu(Step& step) {
  const ValueId x = step.input(0);
  const ElementType type = step.need_elem(x);
  const ValueId is_above = step.add("Less", {step.number(type, step.real("alpha"), "alpha"), x}, {}, "is_above");
  finish_as(step, "Where", {is_above, x, step.number(type, 0, "zero")});
}

/// Integers; Max takes them.
void relu_of_integers(Step& step) {
  const ElementType type = step.elem(step.input(0));
  if (is_integer(type)) finish_as(step, "Max", {step.input(0), step.number(type, 0, "zero")});
}

void shrink(Step& step) {
  const ValueId x = step.input(0);
  const ElementType type = step.need_elem(x);
  if (is_integer(type)) refuse("the specification does not define how Shrink rounds integer results");
  const auto sizes = step.sizes(x);
  const ValueId bias = step.number(type, step.real("bias"), "bias");
  const ValueId is_high = step.add("Greater", {x, step.number(type, step.real("lambd"), "lambd")}, {}, "is_high");
  const ValueId is_low = step.add("Less", {x, step.number(type, -step.real("lambd"), "minus_lambd")}, {}, "is_low");
  const ValueId high = step.add("Sub", {x, bias}, {}, "high"), low = step.add("Add", {x, bias}, {}, "low");
  const ValueId upper = select(step, is_high, high, step.number(type, 0, "zero"), type, sizes);
  finish_as(step, "Identity", {select(step, is_low, low, upper, type, sizes)});
}

// ---- numbers

/// 1 where x is positive, less 1 where it is negative, and NaN where it is NaN: so much is max(-|x|, 0).
void sign(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  const ElementType computed = is_integer(type) ? ElementType::float64 : type;
  const ValueId x = is_integer(type) ? cast(step, step.input(0), computed, "wide") : step.input(0);
  const ValueId zero = step.number(computed, 0, "zero");
  const ValueId above = cast(step, step.add("Greater", {x, zero}, {}, "is_above"), computed, "above");
  const ValueId below = cast(step, step.add("Less", {x, zero}, {}, "is_below"), computed, "below");
  const ValueId whole = step.add("Sub", {above, below}, {}, "of_numbers");
  if (is_integer(type)) {
    cast_into(step, whole, type, step.output(0));
    return step.replace();
  }
  const ValueId minus = step.add("Neg", {step.add("Abs", {x}, {}, "magnitude")}, {}, "minus_magnitude");
  finish_as(step, "Add", {whole, step.add("Relu", {minus}, {}, "nan_or_zero")});
}

void is_nan(Step& step) { finish_as(step, "Not", {is_number(step, step.input(0), step.need_elem(step.input(0)))}); }

/// Beyond the largest finite number.
void is_inf(Step& step) {
  const ValueId x = step.input(0);
  const ElementType type = step.need_elem(x);
  const bool negative = step.integer("detect_negative") != 0, positive = step.integer("detect_positive") != 0;
  const double largest = largest_finite(type);
  if (negative && positive) {
    finish_as(step, "Greater", {step.add("Abs", {x}, {}, "magnitude"), step.number(type, largest, "largest")});
  } else if (positive) {
    finish_as(step, "Greater", {x, step.number(type, largest, "largest")});
  } else if (negative) {
    finish_as(step, "Less", {x, step.number(type, -largest, "least")});
  } else {
    finish_as(step, "Less", {x, x});
  }
}

/// A zero has the sign of what was rounded.
void round(Step& step) {
  const ValueId x = step.input(0);
  const ElementType type = step.need_elem(x);
  const ValueId result = rounded(step, x, type);
  const ValueId zero = step.add("Mul", {x, step.number(type, 0, "zero")}, {}, "signed_zero");
  finish_as(step, "Where", {cast(step, result, ElementType::boolean, "is_nonzero"), result, zero});
}

/// -x - 1, which wraps where there is no sign.
void bitwise_not(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  const ValueId minus = step.add("Sub", {step.number(type, 0, "zero"), step.input(0)}, {}, "minus");
  finish_as(step, "Sub", {minus, step.number(type, 1, "one")});
}

/// Half of e^|x| and of e^-|x|, the former in two factors as it may overflow before its half does.
ValueId hyperbolic_cosine(Step& step, ElementType type) {
  const ValueId half = step.number(type, 0.5, "half");
  const ValueId magnitude = step.add("Abs", {step.input(0)}, {}, "magnitude");
  const ValueId root = step.add("Exp", {step.add("Mul", {magnitude, half}, {}, "halved")}, {}, "root");
  const ValueId growing = step.add("Mul", {step.add("Mul", {root, half}, {}, "half_root"), root}, {}, "growing");
  const ValueId falling = step.add("Exp", {step.add("Neg", {magnitude}, {}, "minus")}, {}, "falling");
  return step.add("Add", {growing, step.add("Mul", {falling, half}, {}, "half_falling")}, {}, "cosh");
}

void cosh(Step& step) { finish_as(step, "Identity", {hyperbolic_cosine(step, step.need_elem(step.input(0)))}); }

void sinh(Step& step) {
  const ValueId cosine = hyperbolic_cosine(step, step.need_elem(step.input(0)));
  finish_as(step, "Mul", {step.add("Tanh", {step.input(0)}, {}, "tanh"), cosine});
}

/// Version 9 took integers.
void erf_of_integers(Step& step) {
  const ElementType type = step.elem(step.input(0));
  if (!is_integer(type)) return;
  const ValueId wide = cast(step, step.input(0), ElementType::float64, "wide");
  cast_into(step, step.add("Erf", {wide}, {}, "erf"), type, step.output(0));
  step.replace();
}

void register_introductions(StepRegistry& registry) {
  registry.introduced({"Celu"}, 12, adapt("rewritten as Elu", celu));
  registry.introduced({"Gelu"}, 20, adapt("rewritten as its function body", gelu));
  registry.introduced({"HardSwish"}, 14, adapt("rewritten as HardSigmoid and Mul", hard_swish));
  registry.introduced({"Mish"}, 18, adapt("rewritten as Softplus, Tanh and Mul", mish));
  registry.introduced({"Swish"}, 24, adapt("rewritten as Sigmoid and Mul", swish));
  registry.introduced({"ThresholdedRelu"}, 10, adapt("rewritten as Less and Where", thresholded_relu));
  registry.introduced({"Shrink"}, 9, adapt("rewritten as comparisons and selections", shrink));
  registry.introduced({"Sign"}, 9, adapt("rewritten as comparisons", sign));
  registry.introduced({"IsNaN"}, 9, adapt("rewritten as not below 1 and not above 0", is_nan));
  registry.introduced({"IsInf"}, 10, adapt("rewritten as a comparison with the largest finite number", is_inf));
  registry.introduced({"Round"}, 11, adapt("rewritten as Floor and the remainder", round));
  registry.introduced({"BitwiseNot"}, 18, adapt("-x - 1", bitwise_not));
  registry.introduced({"Cosh"}, 9, adapt("rewritten as Exp", cosh));
  registry.introduced({"Sinh"}, 9, adapt("rewritten as Tanh and Exp", sinh));
  registry.introduced({"Acosh", "Asinh", "Atanh"}, 9,
                      never("older operators compute it only through differences that lose digits"));
  registry.introduced({"Acos", "Asin", "Atan", "Cos", "Sin", "Tan"}, 7,
                      never("older opsets have no trigonometric operators"));
  registry.introduced({"Erf"}, 9, never("older operators can only approximate the error function"));
}

}  // namespace

void register_elementwise(StepRegistry& registry) {
  const Way wider = compatible("more types are allowed");
  const Way without_bfloat16 = by_way_of(through_float32());

  registry.change({"Ceil", "Elu", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Reciprocal", "Relu", "Selu",
                   "Sigmoid", "Sqrt", "Tanh"},
                  6, drop_attribute("consumed_inputs"), compatible("consumed_inputs may be absent"));
  registry.change({"Abs", "Neg"}, 6, drop_attribute("consumed_inputs"), by_way_of(whole_through_float64()));
  registry.types(
      {"Abs", "Ceil", "Exp", "Floor", "IsNaN", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sign", "Sqrt", "Tanh"},
      {13});
  registry.change({"Erf"}, 13, adapt("integers are cast", erf_of_integers), compatible("bfloat16 is new"));
  registry.change({"Relu"}, 14, wider, adapt("integers computed by Max", relu_of_integers));
  registry.change({"LeakyRelu"}, 16, wider, without_bfloat16);
  registry.change({"IsNaN"}, 20, wider,
                  by_way_of(through_float32({ElementType::float8e4m3fn, ElementType::float8e4m3fnuz,
                                             ElementType::float8e5m2, ElementType::float8e5m2fnuz})));
  registry.change(
      {"IsInf"}, 20, wider,
      by_way_of(through_float32({ElementType::bfloat16, ElementType::float16, ElementType::float8e4m3fn,
                                 ElementType::float8e4m3fnuz, ElementType::float8e5m2, ElementType::float8e5m2fnuz})));
  registry.change(
      {"Acos",      "Acosh", "Asin",  "Asinh", "Atan", "Atanh", "Cos",      "Cosh",     "Elu", "HardSigmoid",
       "HardSwish", "Mish",  "Round", "Selu",  "Sin",  "Sinh",  "Softplus", "Softsign", "Tan", "ThresholdedRelu"},
      22, wider, without_bfloat16);
  registry.change({"Celu"}, 28, wider,
                  adapt("float16 computed in float32, float64 rewritten as Elu", celu_of_other_types));
  register_introductions(registry);
}

}  // namespace onnxkit::opset
