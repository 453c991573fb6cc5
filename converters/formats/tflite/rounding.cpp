#include "converters/formats/tflite/rounding.h"

#include <algorithm>
#include <cmath>

namespace onnxkit::tflite {
namespace {

/// A real factor as 16 bits and an exponent of two.
struct ShortFactor {
  std::int64_t mantissa = 0;
  int exponent = 0;
};

ShortFactor short_factor(double real) {
  int exponent = 0;
  auto mantissa = static_cast<std::int64_t>(std::llround(std::frexp(real, &exponent) * 2147483648.0));
  if (mantissa == std::int64_t{1} << 31) {
    mantissa /= 2;
    ++exponent;
  }
  return {std::min<std::int64_t>((mantissa + (1 << 15)) >> 16, 32767), exponent};
}

std::int64_t saturated(std::int64_t x) { return std::clamp<std::int64_t>(x, -32768, 32767); }

/// The upper half of a doubled product of 16 bits, rounded.
std::int64_t high_product(std::int64_t a, std::int64_t b) {
  const std::int64_t product = a * b;
  return saturated((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

/// x / 2^bits, halves away from zero.
std::int64_t shifted_down(std::int64_t x, int bits) {
  if (bits <= 0) return saturated(x << std::min(-bits, 16));
  if (bits > 20) return 0;
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  return x >= 0 ? (x + half) >> bits : -((-x + half) >> bits);
}

/// The gate, from 0 to 1 as 0 to 2^15: the input in steps of 3 / 2^15, saturated, and then half of that and a half.
std::int64_t gate_of(std::int64_t input, ShortFactor factor) {
  std::int64_t gate = input;
  if (factor.exponent > 0) gate = saturated(gate << std::min(factor.exponent - 1, 16));
  gate = high_product(gate, factor.mantissa);
  if (factor.exponent > 0) gate = saturated(gate << 1);
  if (factor.exponent < 0) gate = shifted_down(gate, -factor.exponent);
  return (gate + (1 << 15)) >> 1;
}

template <typename Function>
std::vector<std::int64_t> table_of(ElementType elem, const Function& function) {
  const auto [least, greatest] = integer_range(elem).value_or(std::pair<std::int64_t, std::int64_t>{0, 0});
  std::vector<std::int64_t> table;
  for (std::int64_t i = least; i <= greatest; ++i)
    table.push_back(std::clamp<std::int64_t>(function(i), least, greatest));
  return table;
}

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> integer_range(ElementType elem) {
  switch (elem) {
    case ElementType::int8:
      return {{-128, 127}};
    case ElementType::uint8:
      return {{0, 255}};
    case ElementType::int16:
      return {{-32768, 32767}};
    default:
      return std::nullopt;
  }
}

const Quantization* quantized_bytes(Call& call, std::string_view name) {
  const Quantization *given = quantization_of(call.declared(name)), *made = quantization_of(call.declared_output());
  const ElementType elem = call.declared_elem();
  const bool is_byte = elem == ElementType::int8 || elem == ElementType::uint8;
  return given && made && is_byte && !given->is_per_axis() && !made->is_per_axis() &&
                 call.onnx.elem(call.tensor(name)) == elem
             ? given
             : nullptr;
}

std::vector<std::int64_t> hard_swish_table(const Quantization& from, const Quantization& to, ElementType elem) {
  const float fine = from.scales.front() * (1.0F / 128);
  const ShortFactor to_result = short_factor(fine / to.scales.front()), to_gate = short_factor(fine / (3.0F / 32768));
  return table_of(elem, [&](std::int64_t i) {
    const std::int64_t input = (i - from.zero_points.front()) * 128;
    const std::int64_t product = gate_of(input, to_gate) * high_product(input, to_result.mantissa) / (1 << 15);
    return shifted_down(product, -to_result.exponent) + to.zero_points.front();
  });
}

std::vector<std::int64_t> nearest_hard_swish(const Quantization& from, const Quantization& to, ElementType elem) {
  const double scale = from.scales.front(), step = to.scales.front();
  return table_of(elem, [&](std::int64_t i) {
    const double x = static_cast<double>(i - from.zero_points.front()) * scale;
    return static_cast<std::int64_t>(std::llrint(x * std::clamp(x / 6 + 0.5, 0.0, 1.0) / step)) +
           to.zero_points.front();
  });
}

Val on_grid(Call& call, Val x, double step) {
  auto& onnx = call.onnx;
  const Val size = onnx.scalar(onnx.elem(x), step);
  return onnx.emit("Mul", {onnx.emit("Round", {onnx.emit("Div", {x, size})}), size});
}

Val rounded_twice(Call& call, Val product, const Quantization& left, const Quantization& right) {
  auto& onnx = call.onnx;
  const double step = quantization_of(call.declared_output())->scales.front();
  int exponent = 0;
  std::frexp(static_cast<double>(left.scales.front()) * right.scales.front() / step, &exponent);
  const Val nudge = onnx.scalar(ElementType::float32, step * std::ldexp(1.0, std::min(exponent, 0) - 1));
  return onnx.emit("Add", {product, onnx.emit("Mul", {onnx.emit("Sign", {product}), nudge})});
}

}  // namespace onnxkit::tflite
