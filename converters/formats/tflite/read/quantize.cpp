// Quantization, types, and stored forms.
#include <algorithm>
#include <cmath>

#include "converters/foreign/complex_numbers.h"
#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

/// To integers, also from integers of another scale.
void map_quantize(Call& call) { give(call, real(call, "x")); }

/// From integers, or from float16, as weights are stored.
void map_dequantize(Call& call) { give(call, real(call, "x")); }

/// From a sparse tensor, which was made dense when it was read.
void map_densify(Call& call) { call.result(call.tensor("x")); }

/// Of complex numbers the real part; real ones have an imaginary part of zeros.
void map_cast(Call& call) {
  auto& onnx = call.onnx;
  const foreign::Complex x = call.complex("x");
  const ElementType type = call.declared_elem(), part = foreign::part_type_of(type);
  if (type == ElementType::undefined) return call.refuse("the type of its result has no counterpart in ONNX");
  const auto cast = [&](Val value) { return onnx.emit("Cast", {value}, {{"to", static_cast<std::int64_t>(part)}}); };
  if (part == type) return call.result(cast(x.real));
  const foreign::Complex both = with_both_parts(onnx, x);
  call.result(foreign::Complex{cast(both.real), cast(both.imaginary)});
}

/// Rounds to the steps of integers and back.
void map_fake_quant(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "x");
  const std::int64_t bits = call.integer("num_bits", 0);
  if (bits < 2 || bits > 16) return call.refuse("its number of bits is not between 2 and 16");
  const double first = call.flag("narrow_range", false) ? 1 : 0,
               last = static_cast<double>((std::int64_t{1} << bits) - 1);
  const double low = call.real("min", 0), high = call.real("max", 0);
  if (!(low <= 0 && high >= 0 && high > low)) return call.refuse("its range does not hold zero");
  const double scale = (high - low) / (last - first);
  const double zero = std::clamp(std::round(first - low / scale), first, last);
  const ElementType type = onnx.elem(x);
  const Val limited =
      onnx.emit("Clip", {x, onnx.scalar(type, (first - zero) * scale), onnx.scalar(type, (last - zero) * scale)});
  const Val steps = onnx.emit("Round", {onnx.emit("Div", {limited, onnx.scalar(type, scale)})});
  give(call, onnx.emit("Mul", {steps, onnx.scalar(type, scale)}));
}

}  // namespace

void register_quantize(Mappings& mappings);
void register_quantize(Mappings& mappings) {
  mappings.add_all({"QUANTIZE"}, {"x"}, map_quantize);
  mappings.add_all({"DEQUANTIZE"}, {"x"}, map_dequantize);
  mappings.add_all({"DENSIFY"}, {"x"}, map_densify);
  mappings.add("CAST", {"x"}, map_cast);
  mappings.add("FAKE_QUANT", {"x"}, map_fake_quant);
}

}  // namespace onnxkit::tflite
