// Evenly spaced numbers, and powers of such.
#include <cmath>
#include <optional>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// An end of the range where it is a number.
std::optional<double> known_end(Call& call, std::string_view name, double fallback) {
  const foreign::Argument* given = call.argument(name);
  if (given && given->as<foreign::ValueId>()) return std::nullopt;
  return call.real(name, fallback);
}

/// From the middle on PyTorch counts from the end.
std::vector<double> spaced_numbers(double start, double end, std::int64_t steps) {
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  std::vector<double> values;
  for (std::int64_t i = 0; i < steps; ++i)
    values.push_back(i < steps / 2 || steps == 1 ? start + step * static_cast<double>(i)
                                                 : end - step * static_cast<double>(steps - 1 - i));
  return values;
}

/// The same between ends that the run gives.
Val spaced_between(Call& call, ElementType type, ElementType wide, std::int64_t steps) {
  auto& onnx = call.onnx;
  const auto end_of = [&](std::string_view name, double fallback) {
    const Val end = onnx.cast(call.number(name, type, fallback), wide);
    return onnx.rank(end) == 1 ? onnx.squeeze(end, {0}) : end;
  };
  const Val start = end_of("start", 0), end = end_of("end", 1);
  if (steps < 2) return onnx.emit("Expand", {start, onnx.integers({steps})});
  const Val step =
      onnx.emit("Div", {onnx.emit("Sub", {end, start}), onnx.scalar(wide, static_cast<double>(steps - 1))});
  const std::int64_t half = steps / 2;
  std::vector<double> from_start, from_end;
  for (std::int64_t i = 0; i < half; ++i) from_start.push_back(static_cast<double>(i));
  for (std::int64_t i = half; i < steps; ++i) from_end.push_back(static_cast<double>(steps - 1 - i));
  const Val low = onnx.emit("Add", {start, onnx.emit("Mul", {step, onnx.reals(wide, {half}, from_start)})});
  const Val high = onnx.emit("Sub", {end, onnx.emit("Mul", {step, onnx.reals(wide, {steps - half}, from_end)})});
  return onnx.emit("Concat", {low, high}, {{"axis", std::int64_t{0}}});
}

template <bool is_power>
void map_spaced(Call& call) {
  auto& onnx = call.onnx;
  ElementType type = call.elem("dtype");
  if (type == ElementType::undefined) type = call.declared_elem();
  if (type == ElementType::undefined) type = ElementType::float32;
  const std::int64_t steps = call.integer("steps", 100);
  constexpr std::int64_t most = 1 << 20;
  if (is_power && !is_floating(type)) return call.refuse("powers that are cut to integers");
  if (steps < 0 || steps > most) return call.refuse("the number of steps is out of range");
  // Integers are cut towards zero, both ends and all between.
  const ElementType wide = is_floating(type) ? type : ElementType::float64;
  const double base = is_power ? call.real("base", 10) : 1;
  auto start = known_end(call, "start", 0), end = known_end(call, "end", 1);
  if (start && end) {
    if (!is_floating(type)) *start = std::trunc(*start), *end = std::trunc(*end);
    std::vector<double> values = spaced_numbers(*start, *end, steps);
    for (double& value : values)
      value = is_power ? std::pow(base, value) : is_floating(type) ? value : std::trunc(value);
    return call.result(onnx.cast(onnx.reals(wide, {steps}, values), type));
  }
  const Val values = spaced_between(call, type, wide, steps);
  call.result(onnx.cast(is_power ? onnx.emit("Pow", {onnx.scalar(wide, base), values}) : values, type));
}

}  // namespace

void register_spacing(Mappings& mappings);
void register_spacing(Mappings& mappings) {
  mappings.add({"aten.linspace.default", "aten.linspace.Tensor_Tensor", "aten.linspace.Tensor_Scalar",
                "aten.linspace.Scalar_Tensor"},
               map_spaced<false>);
  mappings.add({"aten.logspace.default", "aten.logspace.Tensor_Tensor", "aten.logspace.Tensor_Scalar",
                "aten.logspace.Scalar_Tensor"},
               map_spaced<true>);
}

}  // namespace onnxkit::pt2
