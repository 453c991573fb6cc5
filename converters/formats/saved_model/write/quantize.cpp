// Integers that stand for real numbers, as arithmetic.
#include <limits>

#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

/// A scale or zero point that broadcasts along the axis.
ValueId along_axis(WriteCall& call, ValueId vector, std::int64_t axis, std::size_t rank) {
  const Type& type = call.type_of(vector);
  if (!type.shape || type.shape->size() != 1) return vector;
  if ((*type.shape)[0].is(1)) return as_scalar(call, vector);
  if (axis < 0 || static_cast<std::size_t>(axis) >= rank) {
    call.refuse("its axis does not fit its input");
    return vector;
  }
  Shape shape(rank - static_cast<std::size_t>(axis), Dim(1));
  shape[0] = (*type.shape)[0];
  return reshape(call, vector, shape);
}

struct Parameters {
  ValueId scale = ValueId::none, zero_point = ValueId::none;  ///< both real
};
Parameters parameters_of(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const std::int64_t axis = rank == 0 ? 0 : call.axis("axis", 1, rank);
  Parameters made;
  made.scale = along_axis(call, cast(call, call.input(1), ElementType::float32), axis, rank);
  if (call.has(2)) made.zero_point = along_axis(call, cast(call, call.input(2), ElementType::float32), axis, rank);
  return made;
}

struct Bounds {
  double least = 0, greatest = 0;
};
std::optional<Bounds> bounds_of(ElementType elem) {
  switch (elem) {
    case ElementType::uint8:
      return Bounds{0, 255};
    case ElementType::int8:
      return Bounds{-128, 127};
    case ElementType::uint16:
      return Bounds{0, 65535};
    case ElementType::int16:
      return Bounds{-32768, 32767};
    default:
      return std::nullopt;
  }
}

void map_quantize(WriteCall& call) {
  const ElementType to = call.output_type().elem;
  const auto bounds = bounds_of(to);
  if (!bounds) return call.refuse("it gives other integers than those of 8 and 16 bits");
  const Parameters parameters = parameters_of(call);
  const ValueId x = cast(call, call.input(0), ElementType::float32);
  ValueId steps = unary(call, "Round", binary(call, "RealDiv", x, parameters.scale));
  if (parameters.zero_point != ValueId::none) steps = binary(call, "AddV2", steps, parameters.zero_point);
  steps = binary(call, "Minimum", binary(call, "Maximum", steps, bounds->least), bounds->greatest);
  call.result(cast(call, steps, to));
}

void map_dequantize(WriteCall& call) {
  const ElementType from = call.elem(0), to = call.output_type().elem;
  if (!bounds_of(from) && from != ElementType::int32)
    return call.refuse("it reads other integers than those of 8, 16 and 32 bits");
  const Parameters parameters = parameters_of(call);
  ValueId steps = cast(call, call.input(0), ElementType::float32);
  if (parameters.zero_point != ValueId::none) steps = binary(call, "Sub", steps, parameters.zero_point);
  call.result(cast(call, binary(call, "Mul", steps, parameters.scale), to));
}

/// To uint8, by the least and the greatest element.
void map_dynamic_quantize(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  Ints axes;
  for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  const ValueId x = call.input(0);
  constexpr double greatest_step = 255;
  const auto bounded = [&](ValueId value) {
    return binary(call, "Minimum", binary(call, "Maximum", value, 0.0), greatest_step);
  };
  const ValueId least = binary(call, "Minimum", reduce(call, "Min", x, axes, false), 0.0);
  const ValueId greatest = binary(call, "Maximum", reduce(call, "Max", x, axes, false), 0.0);
  const ValueId scale = binary(call, "RealDiv", binary(call, "Sub", greatest, least), greatest_step);
  const ValueId zero = unary(call, "Round", bounded(unary(call, "Neg", binary(call, "RealDiv", least, scale))));
  const ValueId steps = binary(call, "AddV2", unary(call, "Round", binary(call, "RealDiv", x, scale)), zero);
  call.results({cast(call, bounded(steps), ElementType::uint8), scale, cast(call, zero, ElementType::uint8)});
}

}  // namespace

void register_quantize(Writers& writers);
void register_quantize(Writers& writers) {
  writers.add("QuantizeLinear", map_quantize);
  writers.add("DequantizeLinear", map_dequantize);
  writers.add("DynamicQuantizeLinear", map_dynamic_quantize);
}

}  // namespace onnxkit::to_tensorflow
