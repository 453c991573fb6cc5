#include <limits>

#include <fmt/core.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

bool is_single(const Step& step, ValueId value) {
  const auto rank = step.rank(value);
  const auto sizes = step.sizes(value);
  return rank == 0 || (rank == 1 && sizes && sizes->front() == 1);
}

/// Each scale as often as its block is long.
ValueId spread_blocks(Step& step, ValueId given, std::int64_t block) {
  const ValueId x = step.input(0);
  const std::int64_t axis = counted_from_front(step, step.integer("axis", 1), x);
  const checker::Shape* shape = step.shape(x);
  const bool is_axis = shape && axis >= 0 && static_cast<std::size_t>(axis) < shape->size();
  const checker::Dim size = is_axis ? (*shape)[static_cast<std::size_t>(axis)] : checker::Dim();
  if (!size.is_constant())
    refuse_unknown(fmt::format("the size of axis {}, which is split into blocks, is unknown", axis));
  List block_of;
  const std::int64_t count = storable_count(List{size.constant()});
  for (std::int64_t i = 0; i < count; ++i) block_of.push_back(i / block);
  return step.add("Gather", {given, step.vector(block_of, "blocks")}, {{"axis", axis}}, "for_each_element");
}

/// A scale or zero point as an operand that broadcasts against x.
ValueId spread(Step& step, ValueId given) {
  const std::int64_t block = step.integer("block_size");
  if (block > 0) return spread_blocks(step, given, block);
  if (is_single(step, given)) return step.rank(given) == 0 ? given : reshape(step, given, {}, "scalar");
  const std::int64_t rank = step.need_rank(step.input(0));
  if (rank <= 1) return given;
  const std::int64_t axis = counted_from_front(step, step.integer("axis", 1), step.input(0));
  if (axis < 0 || axis >= rank) refuse(fmt::format("the input has no axis {}", axis));
  List sizes(static_cast<std::size_t>(rank - axis), 1);
  sizes.front() = -1;
  return sizes.size() == 1 ? given : reshape(step, given, sizes, "along_axis");
}

/// Halves to even; in operators of opset 9 where there is no Round.
ValueId rounded(Step& step, ValueId real) {
  if (step.opset_after() >= 11) return step.add("Round", {real}, {}, "whole");
  const ElementType type = ElementType::float64;
  const ValueId half = step.number(type, 0.5), two = step.number(type, 2);
  const ValueId below = step.add("Floor", {real}, {}, "below");
  const ValueId rest = step.add("Sub", {real, below}, {}, "rest");
  const ValueId even = step.add("Mul", {step.add("Floor", {step.add("Div", {below, two})}), two}, {}, "even");
  const ValueId is_odd = cast(step, step.add("Sub", {below, even}), ElementType::boolean, "is_odd");
  const ValueId not_less = step.add("Not", {step.add("Less", {rest, half})});
  const ValueId up = step.add("Or", {step.add("Greater", {rest, half}), step.add("And", {not_less, is_odd})});
  return step.add("Add", {below, cast(step, up, type)}, {}, "whole");
}

ElementType stated_type(const Step& step, std::string_view attribute) {
  return static_cast<ElementType>(step.integer(attribute));
}

ElementType quantized_type(const Step& step) {
  if (step.has_input(2)) return step.need_elem(step.input(2));
  const ElementType stated = stated_type(step, "output_dtype");
  return stated == ElementType::undefined ? ElementType::uint8 : stated;
}

/// The quotient is rounded to the type of the scale, unless `precision` names another one; integers are divided as real numbers.
ElementType precision_of(const Step& step) {
  const ElementType stated = stated_type(step, "precision");
  return stated == ElementType::undefined ? step.need_elem(step.input(1)) : stated;
}

/// The formula: divided, rounded, the zero point added, bounded.
void quantize_by_parts(Step& step) {
  const ElementType type = quantized_type(step), given = precision_of(step), wide = ElementType::float64;
  const ElementType precision = is_floating(given) ? given : wide;
  const ValueId scale = spread(step, cast(step, step.input(1), precision, "scale"));
  const ValueId x = cast(step, step.input(0), precision, "x");
  ValueId result = cast(step, step.add("Div", {x, scale}, {}, "quotient"), wide, "quotient");
  if (!is_floating(type)) result = rounded(step, result);
  if (step.has_input(2)) {
    const ValueId zero = cast(step, step.input(2), wide, "zero_point");
    result = step.add("Add", {result, spread(step, zero)}, {}, "moved");
  }
  if (!is_floating(type))
    result = bounded(step, result, static_cast<double>(least_of(type)), static_cast<double>(greatest_of(type)));
  ir::Node& last = step.emit("Cast", {result}, {step.output(0)}, {cast_target(step, type)});
  if (is_floating(type)) last.attributes.push_back(step.attribute({"saturate", step.integer("saturate", 1)}));
  step.replace();
  step.note("rewritten as the formula: divide, round, add the zero point, clip");
}

/// The formula, rounded once: what the types hold is exact in double.
void dequantize_by_parts(Step& step) {
  const ElementType wide = ElementType::float64, stated = stated_type(step, "output_dtype");
  const ElementType type = stated == ElementType::undefined ? step.need_elem(step.input(1)) : stated;
  ValueId result = cast(step, step.input(0), wide, "x");
  if (step.has_input(2)) {
    const ValueId zero = cast(step, step.input(2), wide, "zero_point");
    result = step.add("Sub", {result, spread(step, zero)}, {}, "from_zero");
  }
  const ValueId scale = spread(step, cast(step, step.input(1), wide, "scale"));
  cast_into(step, step.add("Mul", {result, scale}, {}, "scaled"), type, step.output(0));
  step.replace();
  step.note("rewritten as the formula: subtract the zero point, multiply by the scale");
}

bool has_two_bytes(ElementType type) { return type == ElementType::int16 || type == ElementType::uint16; }

// ---- QuantizeLinear

/// Version 21 divides in the one type that x and scale have.
void quantize_in_one_type(Step& step) {
  const ElementType x = step.need_elem(step.input(0)), scale = step.need_elem(step.input(1));
  const ElementType precision = precision_of(step);
  if (x == scale && x == precision) return step.remove("precision");
  if (!is_floating(precision)) return quantize_by_parts(step);
  if (x != precision) step.set_input(0, cast(step, step.input(0), precision, "x"));
  if (scale != precision) step.set_input(1, cast(step, step.input(1), precision, "scale"));
  step.remove("precision");
  step.note(fmt::format("x and scale are cast to {}, in which the quotient is rounded", name_of(precision)));
}

/// The zero point tells the type, and has the shape of the scale.
void quantize_without_blocks(Step& step) {
  const ElementType type = quantized_type(step);
  if (step.integer("block_size") != 0 || has_two_bytes(type)) return quantize_by_parts(step);
  step.remove("block_size");
  if (!step.has("output_dtype")) return;
  step.remove("output_dtype");
  if (step.has_input(2) || type == ElementType::uint8) return;
  const ValueId zero = step.number(type, 0, "zero");
  if (step.rank(step.input(1)) == 0) return step.set_input(2, zero);
  step.set_input(2, step.add("Expand", {zero, step.add("Shape", {step.input(1)})}, {}, "zero_point"));
}

void quantize_by_float(Step& step) {
  if (step.need_elem(step.input(1)) != ElementType::float32) return quantize_by_parts(step);
  if (!is_floating(quantized_type(step))) step.remove("saturate");
}

/// Version 19 wants x and scale of one type.
void divide_integers_as_float(Step& step) {
  if (step.need_elem(step.input(0)) == ElementType::int32)
    step.set_input(0, cast(step, step.input(0), ElementType::float32, "x"));
}

void quantize_all_alike(Step& step) {
  if (!is_single(step, step.input(1))) return quantize_by_parts(step);
  step.remove("axis");
}

// ---- DequantizeLinear

void dequantize_to_scale(Step& step) {
  const ElementType stated = stated_type(step, "output_dtype");
  if (stated != ElementType::undefined && stated != step.need_elem(step.input(1))) return dequantize_by_parts(step);
  step.remove("output_dtype");
}

void dequantize_without_blocks(Step& step) {
  if (step.integer("block_size") != 0 || has_two_bytes(step.need_elem(step.input(0)))) return dequantize_by_parts(step);
  step.remove("block_size");
}

void dequantize_to_float(Step& step) {
  if (step.need_elem(step.input(1)) != ElementType::float32) dequantize_by_parts(step);
}

void dequantize_all_alike(Step& step) {
  if (!is_single(step, step.input(1))) return dequantize_by_parts(step);
  step.remove("axis");
}

// ---- DynamicQuantizeLinear

/// The scale from the range that holds 0 and all of x, or 1 where x is 0 throughout; then QuantizeLinear.
void dynamic_by_parts(Step& step) {
  const ElementType type = ElementType::float32;
  const ValueId x = step.input(0), zero = step.number(type, 0);
  const Attr scalar{"keepdims", std::int64_t{0}};
  const ValueId least = step.add("Min", {step.add("ReduceMin", {x}, {scalar}), zero}, {}, "least");
  const ValueId most = step.add("Max", {step.add("ReduceMax", {x}, {scalar}), zero}, {}, "greatest");
  const ValueId range = step.add("Sub", {most, least}, {}, "range");
  const ValueId share = step.add("Div", {range, step.number(type, 255)}, {}, "share");
  const auto output = [&](std::size_t i, std::string_view hint) {
    return step.output(i) == ValueId::none ? step.value(hint) : step.output(i);
  };
  const ValueId scale = output(1, "scale"), point = output(2, "zero_point");
  step.emit("Where", {cast(step, range, ElementType::boolean), share, step.number(type, 1)}, {scale});
  const ValueId lowest = step.add("Div", {step.add("Neg", {least}), scale}, {}, "zero_as_real");
  step.emit("QuantizeLinear", {lowest, step.number(type, 1)}, {point});
  step.emit("QuantizeLinear", {x, scale, point}, {output(0, "quantized")});
  step.replace();
}

}  // namespace

void register_quantization(StepRegistry& registry) {
  const Way more_types = compatible("more types are allowed");
  registry.introduced({"QuantizeLinear"}, 10, adapt("rewritten as its formula", quantize_by_parts));
  registry.change({"QuantizeLinear"}, 13, compatible("a scalar scale has the same meaning"),
                  adapt("a scale per slice is rewritten as the formula", quantize_all_alike));
  registry.change({"QuantizeLinear"}, 19, adapt("x has the type of the scale", divide_integers_as_float),
                  adapt("scales other than float are rewritten as the formula", quantize_by_float));
  registry.change(
      {"QuantizeLinear"}, 21, more_types,
      adapt("the zero point decides the type; blocks are rewritten as the formula", quantize_without_blocks));
  registry.change({"QuantizeLinear"}, 23, more_types,
                  adapt("x and scale have the type in which the quotient is rounded", quantize_in_one_type));
  registry.types({"QuantizeLinear", "DequantizeLinear"}, {24, 25, 28});

  registry.introduced({"DequantizeLinear"}, 10, adapt("rewritten as its formula", dequantize_by_parts));
  registry.change({"DequantizeLinear"}, 13, compatible("a scalar scale has the same meaning"),
                  adapt("a scale per slice is rewritten as the formula", dequantize_all_alike));
  registry.change({"DequantizeLinear"}, 19, more_types,
                  adapt("scales other than float are rewritten as the formula", dequantize_to_float));
  registry.change({"DequantizeLinear"}, 21, more_types,
                  adapt("blocks are rewritten as the formula", dequantize_without_blocks));
  registry.change({"DequantizeLinear"}, 23, more_types,
                  adapt("the result has the type of the scale", dequantize_to_scale));

  registry.introduced({"DynamicQuantizeLinear"}, 11, adapt("rewritten as its formula", dynamic_by_parts));
}

}  // namespace onnxkit::opset
