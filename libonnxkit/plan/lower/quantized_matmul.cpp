// Products of bytes: steps over integers, or float32 parts that count exactly.
#include "libonnxkit/plan/exact_parts.h"
#include "libonnxkit/plan/integers.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

Unlowered matmul_in_parts(LowerCall& call) {
  Parts parts = product_parts(call, {});
  if (!parts.refused.empty()) return parts.refused;
  Expression e;
  e.round_to(integer_sum(e, parts.views, Lane::i64), ElementType::int32);
  call.emit_map(e, std::move(parts.views), call.make_output(0));
  return std::nullopt;
}

Unlowered lower_matmul_integer(LowerCall& call) {
  if (const auto sums = multiplied_integers(call, {}, std::nullopt, ElementType::int32); sums) {
    call.set_output(0, *sums);
    return std::nullopt;
  }
  return matmul_in_parts(call);
}

Unlowered lower_qlinear_matmul(LowerCall& call) {
  const ElementType type = call.output_type(0);
  if (!is_quantized_integer(type)) return "to another type than integers of 8 and 16 bits";
  if (call.input_dims(0).size() < 2 || call.input_dims(3).size() < 2) return "a vector";
  const IntegerInputs operands{.x = 0, .weights = 3, .x_zero = 2, .weight_zero = 5};
  if (auto to_bytes = requantization_of(call, 1, 4, 6, 7, type)) {
    if (const auto made = multiplied_integers(call, operands, std::move(to_bytes), type)) {
      call.set_output(0, *made);
      return std::nullopt;
    }
  }
  Parts parts = product_parts(call, operands);
  if (!parts.refused.empty()) return parts.refused;
  Expression e;
  const Number sum = integer_sum(e, parts.views, Lane::f64);
  std::vector<View> inputs = std::move(parts.views);
  const auto scale = [&](std::size_t input, std::optional<View> view) -> std::optional<Number> {
    if (!view) return std::nullopt;
    inputs.push_back(*view);
    return e.convert(e.input(inputs.size() - 1, lane_of(call.input(input).type)), Lane::f64);
  };
  const auto a = scale(1, zero_of_matrix(call, 1, call.input(0), true));
  const auto b = scale(4, zero_of_matrix(call, 4, call.input(3), false));
  const auto by = scale(6, reshaped_or_copied(call, call.input(6), {}));
  if (!a || !b || !by || call.input(7).size() != 1) return "scales of other sizes";
  inputs.push_back(reshaped_or_copied(call, call.input(7), {}));
  const Number zero = e.input(inputs.size() - 1, Lane::i64);
  const Number scaled = e.apply(Operation::multiply, sum, e.apply(Operation::multiply, *a, *b));
  saturated(e, e.apply(Operation::divide, scaled, *by), zero, type);
  call.emit_map(e, std::move(inputs), call.make_output(0));
  return std::nullopt;
}

/// What com.microsoft's QGemm makes of sums of integers: alpha * a_scale * b_scale * (sums + C), which may be quantized.
Unlowered scale_sums(LowerCall& call, std::vector<View> sums, bool has_bias) {
  const ElementType type = call.output_type(0);
  const Dims out = call.output_dims(0);
  Expression e;
  Number sum = integer_sum(e, sums, Lane::f64);
  std::vector<View> inputs = std::move(sums);
  const auto next = [&](const View& view) {
    inputs.push_back(view);
    return e.convert(e.input(inputs.size() - 1, lane_of(view.type)), Lane::f64);
  };
  const auto by_column = [&](std::size_t input) {
    const View view = call.input(input);
    return reshaped_or_copied(call, view, view.size() == 1 ? Dims() : Dims{view.size()});
  };
  const View b_scale = by_column(4);
  if (call.input(1).size() != 1 || (b_scale.rank() == 1 && b_scale.dims[0] != out[1])) return "scales of other sizes";
  if (has_bias) sum = e.apply(Operation::add, sum, next(call.input(6)));
  const Number of_a = next(by_column(1)), of_b = next(b_scale);
  Number factor = e.apply(Operation::multiply, of_a, of_b);
  if (const float alpha = call.real("alpha", 1); alpha != 1)
    factor = e.apply(Operation::multiply, e.constant(Lane::f64, static_cast<double>(alpha)), factor);
  const Number scaled = e.apply(Operation::multiply, sum, factor);
  if (type == ElementType::float32) {
    e.convert(scaled, Lane::f32);
  } else {
    if (call.input(7).size() != 1 || call.input(8).size() != 1) return "scales of other sizes";
    const Number divisor = next(by_column(7)), zero = next(by_column(8));
    saturated(e, e.apply(Operation::divide, scaled, divisor), zero, type);
  }
  call.emit_map(e, std::move(inputs), call.make_output(0));
  return std::nullopt;
}

/// Whether C repeats to the sizes of the result.
bool broadcasts(const Dims& c, const Dims& out) {
  if (c.size() > out.size()) return false;
  for (std::size_t i = 1; i <= c.size(); ++i) {
    if (c[c.size() - i] != 1 && c[c.size() - i] != out[out.size() - i]) return false;
  }
  return true;
}

Unlowered lower_qgemm(LowerCall& call) {
  const ElementType type = call.output_type(0);
  const bool is_quantized = call.has_input(8), has_bias = call.has_input(6);
  if (call.has_input(7) != is_quantized || (type == ElementType::float32) == is_quantized)
    return "a scale or a zero point without the other";
  if (call.input_dims(0).size() != 2 || call.input_dims(3).size() != 2) return "no matrices";
  if (has_bias && !broadcasts(call.input_dims(6), call.output_dims(0))) return "the sizes do not fit";
  IntegerInputs inputs{.x = 0, .weights = 3, .x_zero = 2, .weight_zero = 5};
  inputs.turns_x = call.integer("transA") != 0;
  inputs.turns_weights = call.integer("transB") != 0;
  IntegerInputs with_bias = inputs;
  if (has_bias) with_bias.bias = 6;
  const auto alpha = static_cast<double>(call.real("alpha", 1));
  if (auto to_bytes = is_quantized ? requantization_of(call, 1, 4, 7, 8, type, alpha) : std::nullopt) {
    if (const auto made = multiplied_integers(call, with_bias, std::move(to_bytes), type)) {
      call.set_output(0, *made);
      return std::nullopt;
    }
  }
  if (const auto sums = multiplied_integers(call, with_bias, std::nullopt, ElementType::int32))
    return scale_sums(call, {*sums}, false);
  Parts parts = product_parts(call, inputs);
  if (!parts.refused.empty()) return parts.refused;
  return scale_sums(call, std::move(parts.views), has_bias);
}

}  // namespace

void register_quantized_matmul(LoweringRegistry& registry);
void register_quantized_matmul(LoweringRegistry& registry) {
  registry.add("MatMulInteger", all_versions(), lower_matmul_integer);
  registry.add("QLinearMatMul", all_versions(), lower_qlinear_matmul);
  registry.add("com.microsoft", "QGemm", all_versions(), lower_qgemm);
}

}  // namespace onnxkit::plan
