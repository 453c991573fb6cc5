// Rounding to the steps of integers and back, as training for quantized inference does.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

/// Real numbers for integers from `first` to `last`, which stand for scale (q - zero), 0 being one of them.
struct Steps {
  float scale = 1, zero = 0, first = 0, last = 255;

  float low() const { return (first - zero) * scale; }
  float high() const { return (last - zero) * scale; }
};

/// Floats that the file stores.
std::optional<std::vector<float>> stored_floats(Call& call, std::string_view name) {
  const Val value = call.tensor(name);
  const auto bytes = call.onnx.initializer_bytes(value);
  if (!bytes || call.onnx.elem(value) != ElementType::float32) return std::nullopt;
  std::vector<float> floats(bytes->size() / sizeof(float));
  std::memcpy(floats.data(), bytes->data(), floats.size() * sizeof(float));
  return floats;
}

/// In float32, as TensorFlow moves a range so that 0 is one of the steps.
std::optional<Steps> steps_between(float low, float high, float first, float last) {
  if (!(low < high) || !std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  Steps steps{(high - low) / (last - first), 0, first, last};
  steps.zero = std::clamp(std::round(first - low / steps.scale), first, last);
  return steps;
}

/// For the tensor or for each channel; nullopt after a refusal.
std::optional<std::vector<Steps>> steps_of(Call& call) {
  std::optional<std::vector<float>> lows, highs;
  if (call.has("inputs") && call.declared("min")) {
    lows = stored_floats(call, "min"), highs = stored_floats(call, "max");
  } else {
    lows = {static_cast<float>(call.real("min", -6))}, highs = {static_cast<float>(call.real("max", 6))};
  }
  const std::int64_t bits = call.integer("num_bits", 8);
  if (bits < 2 || bits > 16) call.refuse("its number of bits is not between 2 and 16");
  if (!lows || !highs || lows->size() != highs->size()) call.refuse("its range is not stored");
  if (call.refused()) return std::nullopt;
  const float first = call.flag("narrow_range", false) ? 1 : 0;
  const auto last = static_cast<float>((std::int64_t{1} << bits) - 1);
  std::vector<Steps> all;
  for (std::size_t i = 0; i < lows->size(); ++i) {
    const auto steps = steps_between((*lows)[i], (*highs)[i], first, last);
    if (!steps) {
      call.refuse("its range is empty");
      return std::nullopt;
    }
    all.push_back(*steps);
  }
  return all;
}

/// A number of each channel, or one for all.
Val numbers(Call& call, const std::vector<Steps>& all, float (*of)(const Steps&)) {
  std::vector<double> values;
  for (const Steps& steps : all) values.push_back(of(steps));
  const bool is_one = call.node.op != "FakeQuantWithMinMaxVarsPerChannel";
  return is_one ? call.onnx.scalar(ElementType::float32, values.front())
                : call.onnx.reals(ElementType::float32, {static_cast<std::int64_t>(values.size())}, values);
}

/// Of 8 bits as runtimes with kernels for integers look for it.
Val through_bytes(Call& call, Val x, const std::vector<Steps>& all) {
  auto& onnx = call.onnx;
  std::vector<std::int64_t> zeros;
  for (const Steps& steps : all) zeros.push_back(static_cast<std::int64_t>(steps.zero));
  const Val scale = numbers(call, all, [](const Steps& steps) { return steps.scale; });
  const bool is_one = onnx.rank(scale) == 0;
  const Val zero = is_one ? onnx.scalar_integer(ElementType::uint8, zeros.front())
                          : onnx.integers(ElementType::uint8, std::span(zeros));
  std::vector<ir::Attr> axis;
  if (!is_one) axis.push_back({"axis", static_cast<std::int64_t>(call.rank(x)) - 1});
  const Val bytes = onnx.emit("QuantizeLinear", {x, scale, zero}, axis);
  return onnx.emit("DequantizeLinear", {bytes, scale, zero}, axis);
}

/// Halves are rounded up, counted from the lowest step.
Val through_steps(Call& call, Val limited, const std::vector<Steps>& all) {
  auto& onnx = call.onnx;
  const Val low = numbers(call, all, [](const Steps& steps) { return steps.low(); });
  const Val scale = numbers(call, all, [](const Steps& steps) { return steps.scale; });
  const Val per_step = numbers(call, all, [](const Steps& steps) { return 1 / steps.scale; });
  const Val counted = onnx.emit("Mul", {onnx.emit("Sub", {limited, low}), per_step});
  const Val steps = onnx.emit("Floor", {onnx.emit("Add", {counted, onnx.scalar(ElementType::float32, 0.5)})});
  return onnx.emit("Add", {onnx.emit("Mul", {steps, scale}), low});
}

void map_fake_quantization(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("inputs");
  const auto all = steps_of(call);
  if (!all) return;
  const bool is_byte = call.integer("num_bits", 8) == 8, is_whole = all->empty() || all->front().first == 0;
  if (is_byte && is_whole) return call.result(through_bytes(call, x, *all));
  const Val low = numbers(call, *all, [](const Steps& steps) { return steps.low(); });
  const Val high = numbers(call, *all, [](const Steps& steps) { return steps.high(); });
  const Val limited = onnx.emit("Min", {onnx.emit("Max", {x, low}), high});
  call.result(is_byte ? through_bytes(call, limited, *all) : through_steps(call, limited, *all));
}

}  // namespace

void register_quantize(Mappings& mappings);
void register_quantize(Mappings& mappings) {
  mappings.add("FakeQuantWithMinMaxArgs", {"inputs"}, map_fake_quantization);
  mappings.add_all({"FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}, {"inputs", "min", "max"},
                   map_fake_quantization);
}

}  // namespace onnxkit::saved_model
