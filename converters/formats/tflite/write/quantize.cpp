// Integers that stand for real numbers.
#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

void map_quantize(WriteCall& call) {
  const ElementType to = call.output_type().elem;
  if (to != ElementType::int8 && to != ElementType::uint8 && to != ElementType::int16)
    return call.refuse("QUANTIZE makes int8, uint8 and int16 only");
  const auto quantization = quantization_from(call, call, call.axis("axis", 1, call.rank(0)));
  if (!quantization) return;
  if (quantization->is_per_axis()) return call.refuse("a value that is computed has one scale there");
  const ValueId integers = call.emit("QUANTIZE", {{"x", call.input(0)}}, call.output_type());
  call.set_quantization(integers, *quantization);
  call.result(integers);
}

void map_dequantize(WriteCall& call) {
  const ElementType from = call.elem(0);
  if (call.output_type().elem != ElementType::float32) return call.refuse("it gives other elements than float32");
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
