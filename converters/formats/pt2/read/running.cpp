// What runs along an axis and has a value at each place: products, extremes with their positions, logarithms of sums.
#include <functional>
#include <limits>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// Sizes of all axes but one, as a vector.
Val sizes_without(Call& call, Val x, std::int64_t axis) {
  std::vector<Val> sizes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(call.rank(x)); ++i)
    if (i != axis) sizes.push_back(call.onnx.size_of(x, i));
  return call.onnx.joined(sizes);
}

/// From the states before, and the slice at hand, to the states behind it; the first `results` of them are collected.
using Step = std::function<std::vector<Val>(const std::vector<Val>& states, Val slice)>;

std::vector<Val> scanned(Call& call, Val x, std::int64_t axis, const std::vector<Val>& states, std::size_t results,
                         const Step& step) {
  auto& onnx = call.onnx;
  std::vector<foreign::OnnxBuilder::BodyInput> inputs;
  for (const Val state : states) inputs.push_back({"carried", onnx.type(state)});
  checker::Type slice = onnx.type(x);
  slice.shape->erase(slice.shape->begin() + axis);
  inputs.push_back({"slice", std::move(slice)});
  const std::vector<Val> own = onnx.open_body("body", inputs);
  std::vector<Val> after = step({own.begin(), own.end() - 1}, own.back());
  for (std::size_t i = 0; i < results; ++i) after.push_back(onnx.emit("Identity", {after[i]}));
  std::vector<foreign::OnnxBuilder::Body> bodies;
  bodies.emplace_back("body", onnx.close_body(after));
  call.restore_origin();
  std::vector<Val> operands = states;
  operands.push_back(x);
  const std::vector<Val> all = onnx.emit_with_bodies(states.size() + results, "Scan", operands, std::move(bodies),
                                                     {{"num_scan_inputs", std::int64_t{1}},
                                                      {"scan_input_axes", std::vector<std::int64_t>{axis}},
                                                      {"scan_output_axes", std::vector<std::int64_t>(results, axis)}});
  return {all.begin() + static_cast<std::ptrdiff_t>(states.size()), all.end()};
}

/// What PyTorch multiplies in, so that a product may leave the range of the type, and come back.
ElementType wider(ElementType type) {
  if (type == ElementType::float32) return ElementType::float64;
  return type == ElementType::float16 || type == ElementType::bfloat16 ? ElementType::float32 : type;
}

void map_running_product(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  ElementType type = call.elem("dtype", onnx.elem(x));
  if (!call.has("dtype") && !is_floating(type)) type = ElementType::int64;
  x = onnx.cast(x, type);
  const std::size_t rank = call.rank(x);
  const std::int64_t axis = call.axis("dim", 0, rank);
  if (rank == 0 || onnx.element_count(x) == 0 || call.refused()) return call.result(x);
  const ElementType wide = wider(type);
  const Val start = onnx.emit("Expand", {onnx.scalar(wide, 1), sizes_without(call, x, axis)});
  const Step multiply = [&](const std::vector<Val>& states, Val slice) {
    return std::vector{onnx.emit("Mul", {states[0], slice})};
  };
  call.result(onnx.cast(scanned(call, onnx.cast(x, wide), axis, {start}, 1, multiply).front(), type));
}

/// max + log(1 + exp(-gap)) of the logarithm so far and the next one; equal infinities stay.
void map_running_log_sum(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const std::int64_t axis = call.axis("dim", 0, rank);
  if (rank == 0 || onnx.element_count(x) == 0 || call.refused()) return call.result(x);
  const bool is_double = onnx.elem(x) == ElementType::float64;
  const ElementType type = is_double ? ElementType::float64 : ElementType::float32;
  const Val nothing = onnx.scalar(type, -std::numeric_limits<double>::infinity());
  const Val start = onnx.emit("Expand", {nothing, sizes_without(call, x, axis)});
  const Step add = [&](const std::vector<Val>& states, Val slice) {
    const Val so_far = states[0];
    const Val gap = onnx.emit("Neg", {onnx.emit("Abs", {onnx.emit("Sub", {so_far, slice})})});
    const Val sum = onnx.emit("Add", {onnx.emit("Max", {so_far, slice}), onnx.emit("Softplus", {gap})});
    const Val is_infinite = onnx.emit("And", {onnx.emit("IsInf", {slice}), onnx.emit("Equal", {so_far, slice})});
    return std::vector{onnx.emit("Where", {is_infinite, slice, sum})};
  };
  call.result(onnx.cast(scanned(call, onnx.cast(x, type), axis, {start}, 1, add).front(), onnx.elem(x)));
}

/// What every element of the type is at least, or at most.
Val bound(Call& call, ElementType type, bool is_lower) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (is_floating(type)) return call.onnx.scalar(type, is_lower ? -infinity : infinity);
  using Narrow = std::numeric_limits<std::int32_t>;
  using Wide = std::numeric_limits<std::int64_t>;
  if (type == ElementType::int64) return call.onnx.scalar_integer(type, is_lower ? Wide::min() : Wide::max());
  return call.onnx.scalar_integer(type, is_lower ? Narrow::min() : Narrow::max());
}

/// The extreme so far with its position: of equal ones the last, and NaN before all else.
template <bool is_maximum>
void map_running_extreme(Call& call) {
  auto& onnx = call.onnx;
  const Val given = call.tensor("self");
  const ElementType type = onnx.elem(given);
  const bool is_wide = is_floating(type) || type == ElementType::int64;
  const Val x = is_wide ? given : onnx.cast(given, ElementType::int32);
  const std::size_t rank = call.rank(x);
  const std::int64_t axis = call.axis("dim", 0, rank);
  const Val zero = onnx.scalar_integer(ElementType::int64, 0), one = onnx.scalar_integer(ElementType::int64, 1);
  if (rank == 0 || call.refused()) return call.results({given, zero});
  if (onnx.element_count(x) == 0)
    return call.results({given, onnx.emit("Expand", {zero, onnx.emit("Shape", {given})})});
  const Val sizes = sizes_without(call, x, axis);
  const Val start = onnx.emit("Expand", {bound(call, onnx.elem(x), is_maximum), sizes});
  const Step choose = [&](const std::vector<Val>& states, Val slice) {
    Val is_next = onnx.emit(is_maximum ? "GreaterOrEqual" : "LessOrEqual", {slice, states[0]});
    if (is_floating(type)) is_next = onnx.emit("Or", {is_next, onnx.emit("IsNaN", {slice})});
    return std::vector{onnx.emit("Where", {is_next, slice, states[0]}),
                       onnx.emit("Where", {is_next, states[2], states[1]}), onnx.emit("Add", {states[2], one})};
  };
  const std::vector<Val> found = scanned(call, x, axis, {start, onnx.emit("Expand", {zero, sizes}), zero}, 2, choose);
  call.results({onnx.cast(found[0], type), found[1]});
}

}  // namespace

void register_running(Mappings& mappings);
void register_running(Mappings& mappings) {
  mappings.add("aten.cumprod.default", map_running_product);
  mappings.add("aten.logcumsumexp.default", map_running_log_sum);
  mappings.add("aten.cummax.default", map_running_extreme<true>);
  mappings.add("aten.cummin.default", map_running_extreme<false>);
}

}  // namespace onnxkit::pt2
