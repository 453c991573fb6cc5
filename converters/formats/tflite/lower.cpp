#include "converters/formats/tflite/lower.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "converters/foreign/slices.h"
#include "converters/formats/tflite/pair_scales.h"
#include "converters/formats/tflite/rounding.h"

namespace onnxkit::tflite {

const Quantization* quantization_of(const foreign::Value* value) {
  return value && value->quantization ? &*value->quantization : nullptr;
}

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Scale and zero point as inputs of QuantizeLinear or DequantizeLinear. A zero point of 0 is stated, too: it tells the integers' type, which
/// ONNX Runtime loses where it repeats a node without one. Integers of 32 bits have none.
std::vector<Val> scale_inputs(OnnxBuilder& onnx, const Quantization& quantization, ElementType elem) {
  const auto& zero_points = quantization.zero_points;
  const bool has_zero = elem != ElementType::int32;
  if (!quantization.is_per_axis()) {
    std::vector<Val> inputs = {onnx.scalar(ElementType::float32, quantization.scales.front())};
    if (has_zero) inputs.push_back(onnx.scalar_integer(elem, zero_points.front()));
    return inputs;
  }
  const std::vector<std::int64_t> dims = {static_cast<std::int64_t>(quantization.scales.size())};
  const std::vector<double> scales(quantization.scales.begin(), quantization.scales.end());
  std::vector<Val> inputs = {onnx.reals(ElementType::float32, dims, scales)};
  // A constant of that type and no Cast: runtimes fuse what is around a node with constants only.
  if (has_zero) inputs.push_back(onnx.integers(elem, zero_points));
  return inputs;
}

std::vector<ir::Attr> axis_attribute(const Quantization& quantization) {
  if (!quantization.is_per_axis()) return {};
  return {{"axis", quantization.axis}};
}

/// DequantizeLinear takes no integers of 64 bits, which biases beside int16 have.
Val dequantized_long(OnnxBuilder& onnx, Val value, const Quantization& quantization) {
  const std::vector<double> scales(quantization.scales.begin(), quantization.scales.end());
  std::vector<std::int64_t> dims(quantization.is_per_axis() ? onnx.rank(value).value_or(1) : 0, 1);
  if (!dims.empty()) dims[static_cast<std::size_t>(quantization.axis)] = static_cast<std::int64_t>(scales.size());
  const Val wide = onnx.cast(value, ElementType::float64);
  return onnx.cast(onnx.emit("Mul", {wide, onnx.reals(ElementType::float64, dims, scales)}), ElementType::float32);
}

Val dequantized(OnnxBuilder& onnx, Val value, const Quantization& quantization) {
  if (onnx.elem(value) == ElementType::int64) return dequantized_long(onnx, value, quantization);
  std::vector<Val> inputs = scale_inputs(onnx, quantization, onnx.elem(value));
  inputs.insert(inputs.begin(), value);
  return onnx.emit("DequantizeLinear", inputs, axis_attribute(quantization));
}

Val real_of(OnnxBuilder& onnx, Val value, const foreign::Value* declared) {
  const Quantization* quantization = quantization_of(declared);
  if (!value || !quantization || is_floating(onnx.elem(value))) return value;
  return dequantized(onnx, value, *quantization);
}

/// What the file says of the values in a list.
std::vector<const foreign::Value*> declared_list(Call& call, std::string_view name) {
  std::vector<const foreign::Value*> declared;
  const foreign::Argument* given = call.argument(name);
  const auto* list = given ? given->as<foreign::Argument::List>() : nullptr;
  if (!list) return declared;
  for (const foreign::Argument& item : *list) declared.push_back(call.declared(item));
  return declared;
}

bool same_quantization(const foreign::Value* a, const foreign::Value* b) {
  const Quantization *left = quantization_of(a), *right = quantization_of(b);
  return left && right ? *left == *right : left == right;
}

}  // namespace

Val real(Call& call, std::string_view name) { return real_of(call.onnx, call.tensor(name), call.declared(name)); }

Val real_of_scale(Call& call, std::string_view name, float scale) {
  Quantization quantization = *quantization_of(call.declared(name));
  const float given = std::exchange(quantization.scales.front(), scale);
  const Val integers = call.tensor(name), result = dequantized(call.onnx, integers, quantization);
  if (scale != given && call.stored(name)) call.onnx.annotate(given_scale_key, fmt::format("{}", given));
  return result;
}

std::vector<Val> reals(Call& call, std::string_view name) {
  std::vector<Val> values = call.tensors(name);
  const auto declared = declared_list(call, name);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = real_of(call.onnx, values[i], declared[i]);
  return values;
}

Val weights(Call& call, std::string_view name, const std::vector<std::int64_t>& permutation, std::size_t further_axes) {
  auto& onnx = call.onnx;
  const Val stored = call.tensor(name);
  if (call.rank(stored) != permutation.size()) {
    call.refuse(fmt::format("input {} does not have {} axes", quote(name), permutation.size()));
    return stored;
  }
  Val moved = onnx.transpose(stored, permutation);
  if (further_axes != 0) {
    std::vector<std::int64_t> axes(further_axes);
    std::iota(axes.begin(), axes.end(), permutation.size());
    moved = onnx.unsqueeze(moved, axes);
  }
  const Quantization* quantization = quantization_of(call.declared(name));
  if (!quantization || is_floating(onnx.elem(moved))) return moved;
  Quantization permuted = *quantization;
  if (permuted.is_per_axis())
    permuted.axis = std::find(permutation.begin(), permutation.end(), permuted.axis) - permutation.begin();
  return dequantized(onnx, moved, permuted);
}

Val movable(Call& call, std::string_view name) {
  if (same_quantization(call.declared(name), call.declared_output())) return call.tensor(name);
  return real(call, name);
}

std::vector<Val> movables(Call& call, std::string_view name) {
  const auto declared = declared_list(call, name);
  const bool as_stored = std::all_of(declared.begin(), declared.end(), [&](const foreign::Value* value) {
    return same_quantization(value, call.declared_output());
  });
  return as_stored ? call.tensors(name) : reals(call, name);
}

Val as_sizes(Call& call, std::string_view name) { return foreign::as_sizes(call.onnx, call.tensor(name)); }

Val quantized(OnnxBuilder& onnx, Val value, const Quantization& quantization, ElementType elem) {
  std::vector<Val> inputs = scale_inputs(onnx, quantization, elem);
  inputs.insert(inputs.begin(), value);
  return onnx.emit("QuantizeLinear", inputs, axis_attribute(quantization));
}

void give(Call& call, const std::vector<Val>& values) {
  auto& onnx = call.onnx;
  std::vector<Val> results = values;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const foreign::Value* declared = call.declared_output(i);
    if (!declared || !declared->type || declared->type->elem == ElementType::undefined) continue;
    const Quantization* quantization = quantization_of(declared);
    const ElementType elem = call.declared_elem(i);
    if (quantization && is_floating(onnx.elem(results[i]))) {
      results[i] = quantized(onnx, results[i], *quantization, elem);
    } else {
      results[i] = onnx.cast(results[i], elem);
    }
  }
  call.results(results);
}

namespace {

/// Between bounds, where quantizing the result does not keep within them anyway. What stands between an operator and QuantizeLinear keeps runtimes
/// from computing in integers, so the bounds follow that.
Val bounded(Call& call, Val value, double low, double high) {
  auto& onnx = call.onnx;
  const Quantization* quantization = quantization_of(call.declared_output());
  const auto range = quantization && !quantization->is_per_axis() ? integer_range(call.declared_elem()) : std::nullopt;
  bool needs_low = true, needs_high = high < infinity;
  if (range) {
    const auto step = [&](double bound) {
      return std::nearbyint(bound / quantization->scales.front()) +
             static_cast<double>(quantization->zero_points.front());
    };
    needs_low = step(low) > static_cast<double>(range->first);
    needs_high = needs_high && step(high) < static_cast<double>(range->second);
  }
  if (!needs_low && !needs_high) return value;
  if (range) value = dequantized(onnx, quantized(onnx, value, *quantization, call.declared_elem()), *quantization);
  if (low == 0 && !needs_high) return onnx.emit("Relu", {value});
  const ElementType type = onnx.elem(value);
  return onnx.emit("Clip",
                   {value, needs_low ? onnx.scalar(type, low) : Val(), needs_high ? onnx.scalar(type, high) : Val()});
}

}  // namespace

Val activated(Call& call, Val value) {
  switch (call.integer("fused_activation_function", 0)) {
    case 0:
      return value;
    case 1:
      return bounded(call, value, 0, infinity);
    case 2:
      return bounded(call, value, -1, 1);
    case 3:
      return bounded(call, value, 0, 6);
    case 4:
    case 5:
      call.refuse("kernels of TensorFlow Lite leave out its fused activation function, TANH or SIGN_BIT");
      return value;
    default:
      call.refuse("its fused activation function is not known");
      return value;
  }
}

void give_activated(Call& call, Val value) { give(call, activated(call, value)); }

void give_channels_first(Call& call, Val value) {
  auto& onnx = call.onnx;
  const Val active = activated(call, value);
  // The layout pass removes Transposes: the tensor's name is that of what they transpose.
  const foreign::Value* declared = call.declared_output();
  if (declared && !declared->quantization && !call.is_output() && !call.refused())
    onnx.name_value(active, declared->name);
  give(call, channels_last(onnx, active));
}

Window window_of(Call& call, std::vector<std::int64_t> kernel, std::initializer_list<std::string_view> axes) {
  Window window{std::move(kernel), {}, {}};
  for (const std::string_view axis : axes) {
    window.strides.push_back(call.integer(fmt::format("stride_{}", axis), 1));
    window.dilations.push_back(call.integer(fmt::format("dilation_{}_factor", axis), 1));
  }
  foreign::check_window(call, window);
  return window;
}

std::vector<ir::Attr> window_attributes(Call& call, Val x, const Window& window) {
  const std::int64_t padding = call.integer("padding", 0);
  if (padding == 1 || call.refused()) return foreign::valid_window(window);
  if (padding != 0) call.refuse("its padding is neither SAME nor VALID");
  return foreign::same_window(call.onnx, x, 1, window);
}

}  // namespace onnxkit::tflite
