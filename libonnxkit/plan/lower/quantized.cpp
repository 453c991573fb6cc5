#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/integers.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// A scale or zero point so that it broadcasts against x; nothing when its sizes do not fit.
std::optional<View> spread(LowerCall& call, std::size_t input) {
  const View given = call.input(input);
  const Dims x = call.input_dims(0);
  const std::int64_t block = call.integer("block_size");
  if (given.size() == 1 && given.rank() <= 1 && block == 0) return reshaped_or_copied(call, given, {});
  const std::size_t axis = x.size() == 1 ? 0 : counted_axis(call.integer("axis", 1), x.size());
  if (axis >= x.size()) return std::nullopt;
  if (block == 0) {
    if (given.rank() != 1 || given.size() != x[axis]) return std::nullopt;
    return reshaped_or_copied(call, given, along_axis(x.size(), axis, x[axis]));
  }
  Dims expected = x;
  expected[axis] = block > 0 ? x[axis] / block + (x[axis] % block != 0) : 0;
  if (given.dims != expected || given.size() == 0) return std::nullopt;
  return taken_by_blocks(call, given, axis, block, x[axis]);
}

Unlowered lower_quantize_linear(LowerCall& call) {
  const ElementType type = call.output_type(0), scale_type = call.input_type(1);
  if (!is_quantized_integer(type)) return "to another type than integers of 8 and 16 bits";
  if (!has_lane(call.input_type(0)) || !has_lane(scale_type)) return "elements cannot be computed";
  ElementType precision = scale_type;
  if (const std::int64_t stated = call.integer("precision"); stated != 0) precision = static_cast<ElementType>(stated);
  if (!is_narrow_real(precision) && precision != ElementType::float64 && has_lane(precision))
    precision = ElementType::float64;  // integers are divided as reals
  if (!has_lane(precision)) return "computed in a type without kernels";
  const Lane lane = lane_of(precision);
  const View x = call.input(0);
  const auto scale = spread(call, 1);
  if (!scale) return "scales of other sizes";
  std::vector<View> inputs = {x, *scale};
  Expression e;
  const bool is_rounded = is_16_bit_real(precision);
  const auto narrow = [&](Number number) {
    return is_rounded ? e.round_to(number, precision) : lane == Lane::f32 ? e.as_float32(number) : number;
  };
  const Number value = narrow(e.convert(e.input(0, lane_of(x.type)), lane));
  const Number by = narrow(e.convert(e.input(1, lane_of(scale->type)), lane));
  const Number quotient = narrow(e.apply(Operation::divide, value, by));
  std::optional<Number> zero;
  if (call.has_input(2)) {
    const auto view = spread(call, 2);
    if (!view) return "zero points of other sizes";
    inputs.push_back(*view);
    zero = e.input(2, Lane::i64);
  }
  saturated(e, quotient, zero, type);
  const View output = x.is_dense() ? call.make_output_like(0, x) : call.make_output(0);
  call.emit_map(e, std::move(inputs), output);
  return std::nullopt;
}

Unlowered lower_dequantize_linear(LowerCall& call) {
  if (!has_lane(call.input_type(0)) || !has_lane(call.input_type(1)) || !has_lane(call.output_type(0)))
    return "elements cannot be computed";
  const View x = call.input(0);
  const auto scale = spread(call, 1);
  if (!scale) return "scales of other sizes";
  std::vector<View> inputs = {x, *scale};
  Expression e;
  Number value = e.input(0, lane_of(x.type));
  const Lane lane = lane_of(call.output_type(0));
  const Number by = e.convert(e.input(1, lane_of(scale->type)), lane);
  if (call.has_input(2)) {
    const auto zero = spread(call, 2);
    if (!zero) return "zero points of other sizes";
    inputs.push_back(*zero);
    value = e.apply(Operation::subtract, value, e.convert(e.input(2, lane_of(zero->type)), e.lane(value)));
  }
  e.apply(Operation::multiply, e.convert(value, lane), by);
  const View output = x.is_dense() ? call.make_output_like(0, x) : call.make_output(0);
  call.emit_map(e, std::move(inputs), output);
  return std::nullopt;
}

Unlowered lower_dynamic_quantize(LowerCall& call) {
  const View x = call.input(0);
  if (x.size() == 0) return "without elements";
  const DynamicRange range = dynamic_range(call, x);
  Expression e;
  const Number divided = e.as_float32(e.apply(Operation::divide, e.input(0, Lane::f32), e.input(1, Lane::f32)));
  saturated(e, divided, e.input(2, Lane::i64), ElementType::uint8);
  const View output = x.is_dense() ? call.make_output_like(0, x) : call.make_output(0);
  call.emit_map(e, {x, range.scale, range.zero}, output);
  call.set_output(1, range.scale);
  call.set_output(2, range.zero);
  return std::nullopt;
}

}  // namespace

void register_quantized(LoweringRegistry& registry);
void register_quantized(LoweringRegistry& registry) {
  registry.add("QuantizeLinear", all_versions(), lower_quantize_linear);
  registry.add("DequantizeLinear", all_versions(), lower_dequantize_linear);
  registry.add("DynamicQuantizeLinear", all_versions(), lower_dynamic_quantize);
}

}  // namespace onnxkit::plan
