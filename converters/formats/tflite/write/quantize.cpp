// Integers that stand for real numbers.
#include <utility>

#include "converters/formats/tflite/emit.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tflite {
namespace {

/// A scale or zero point that is computed, broadcast along the axis.
ValueId along_axis(WriteCall& call, std::size_t input, ElementType elem) {
  const ValueId given = cast(call, call.input(input), elem);
  const std::size_t rank = call.rank(0);
  if (!call.shape(input) || call.shape(input)->size() != 1 || rank == 0) return given;
  Shape shape(rank, Dim(1));
  if (!(*call.shape(input))[0].is(1))
    shape[static_cast<std::size_t>(call.axis("axis", 1, rank))] = (*call.shape(input))[0];
  return reshape(call, given, shape);
}

bool has_computed_scale(const WriteCall& call) {
  return !constant_reals(call, 1) || (call.has(2) && !constant_integers(call, 2));
}

/// round(x / scale) + zero point, within the type.
void quantize_by_parts(WriteCall& call, ElementType to) {
  const ValueId x = call.input(0), scale = along_axis(call, 1, ElementType::float32);
  const ValueId steps = unary(call, "ROUND", binary(call, "DIV", x, scale));
  const ValueId moved = call.has(2) ? binary(call, "ADD", steps, along_axis(call, 2, ElementType::float32)) : steps;
  const auto [least, most] = to == ElementType::uint8  ? std::pair(0.0, 255.0)
                             : to == ElementType::int8 ? std::pair(-128.0, 127.0)
                                                       : std::pair(-32768.0, 32767.0);
  call.result(cast(call, binary(call, "MINIMUM", binary(call, "MAXIMUM", moved, least), most), to));
}

void dequantize_by_parts(WriteCall& call) {
  ValueId x = cast(call, call.input(0), ElementType::float32);
  if (call.has(2)) x = binary(call, "SUB", x, along_axis(call, 2, ElementType::float32));
  call.result(binary(call, "MUL", x, along_axis(call, 1, ElementType::float32)));
}

void map_quantize(WriteCall& call) {
  const ElementType to = call.output_type().elem;
  if (to != ElementType::int8 && to != ElementType::uint8 && to != ElementType::int16)
    return call.refuse("QUANTIZE makes int8, uint8 and int16 only");
  if (has_computed_scale(call)) return quantize_by_parts(call, to);
  const auto quantization = quantization_from(call, call, call.axis("axis", 1, call.rank(0)));
  if (!quantization) return;
  if (quantization->is_per_axis()) return quantize_by_parts(call, to);  // a value that is computed has one scale there
  const ValueId integers = call.emit("QUANTIZE", {{"x", call.input(0)}}, call.output_type());
  call.set_quantization(integers, *quantization);
  call.result(integers);
}

void map_dequantize(WriteCall& call) {
  const ElementType from = call.elem(0);
  if (call.output_type().elem != ElementType::float32) return call.refuse("it gives other elements than float32");
  if (has_computed_scale(call) && storage_bits(from) <= 16) return dequantize_by_parts(call);
  if (from == ElementType::int32) {  // a bias: DEQUANTIZE does not read it
    const auto quantization = quantization_from(call, call, 0);
    const auto values = call.rank(0) == 1 ? constant_integers(call, 0) : std::nullopt;
    if (!quantization) return;
    if (!values) return call.refuse("DEQUANTIZE reads no int32 that is computed");
    std::vector<double> reals;
    for (std::size_t i = 0; i < values->size(); ++i)
      reals.push_back(static_cast<double>((*values)[i]) *
                      static_cast<double>(quantization->scales[quantization->is_per_axis() ? i : 0]));
    return call.result(call.reals_tensor(ElementType::float32, {static_cast<std::int64_t>(values->size())}, reals));
  }
  if (from != ElementType::int8 && from != ElementType::uint8 && from != ElementType::int16)
    return call.refuse("DEQUANTIZE reads int8, uint8 and int16 only");
  call.result(dequantize(call, call, call.input(0), call.axis("axis", 1, call.rank(0))));
}

}  // namespace

void register_quantize(Writers& writers);
void register_quantize(Writers& writers) {
  writers.add("QuantizeLinear", map_quantize);
  writers.add("DequantizeLinear", map_dequantize);
}

}  // namespace onnxkit::to_tflite
