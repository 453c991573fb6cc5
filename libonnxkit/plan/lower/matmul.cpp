#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

/// Integers are multiplied as int64, in which sums wrap as in their own type.
Unlowered lower_matmul(LowerCall& call) {
  const ElementType type = call.output_type(0);
  if (!has_lane(type) || type == ElementType::boolean) return "elements cannot be computed";
  if (element_count(call.output_dims(0)) == 0 || call.input(0).size() == 0) return "without elements";
  if (call.input(0).rank() == 0 || call.input(1).rank() == 0) return "a scalar";
  const ElementType wide = wide_type(type);
  const View a = stored_as(call, call.input(0), wide);
  if (const auto b = call.dequantized_input(1); b && wide == ElementType::float32) {
    const Dims dims = call.output_dims(0);
    const std::int64_t rows = element_count(dims) / b->blocks->n;
    const View output = call.make(wide, {rows, b->blocks->n});
    ProductParameters parameters;
    parameters.blocks = b->blocks;
    const View a_rows = rows_side_by_side(call, reshaped_or_copied(call, a, {rows, b->blocks->k}));
    emit_packed_product(call, {a_rows, bytes_of(call, b->numbers)}, output, std::move(parameters), b->numbers);
    call.set_output(0, reshaped(output, dims));
    return std::nullopt;
  }
  const Dims& b_dims = call.input_dims(1);
  const bool is_one = b_dims.size() < 3 || element_count(std::span(b_dims).first(b_dims.size() - 2)) == 1;
  const bool is_packed = wide == ElementType::float32 && call.is_stored_constant(1) && is_one;
  const View b = is_packed ? call.input(1) : stored_as(call, call.input(1), wide);
  const View product = matrix_product(call, a, b, call.output_dims(0));
  if (lane_of(type) != Lane::i64) {
    call.set_output(0, product);
    return std::nullopt;
  }
  Expression e;
  e.round_to(e.input(0, Lane::i64), type);
  call.set_output(0, mapped(call, e, {product}, type, product.dims));
  return std::nullopt;
}

/// alpha * product + beta * c, in the lane of the product.
Unlowered lower_wide_gemm(LowerCall& call, const View& a, const View& b, float alpha, float beta) {
  const ElementType type = call.output_type(0), wide = wide_type(type);
  const Lane lane = lane_of(wide);
  if (lane == Lane::i64 && (alpha != 1 || beta != 1)) return "factors of integers";
  const View product = matrix_product(call, stored_as(call, a, wide), stored_as(call, b, wide), call.output_dims(0));
  Expression e;
  Expression::Number sum = e.input(0, lane);
  std::vector<View> inputs = {product};
  if (alpha != 1) sum = e.apply(Operation::multiply, sum, e.constant(lane, static_cast<double>(alpha)));
  if (call.has_input(2) && beta != 0) {
    Expression::Number added = e.input(1, lane);
    if (beta != 1) added = e.apply(Operation::multiply, added, e.constant(lane, static_cast<double>(beta)));
    sum = e.apply(Operation::add, sum, added);
    inputs.push_back(call.input(2));
  }
  e.round_to(sum, type);
  call.set_output(0, mapped(call, e, std::move(inputs), type, call.output_dims(0)));
  return std::nullopt;
}

Unlowered lower_gemm(LowerCall& call) {
  if (!has_lane(call.output_type(0))) return "elements cannot be computed";
  if (element_count(call.output_dims(0)) == 0 || call.input(0).size() == 0) return "without elements";
  View a = call.input(0), b = call.input(1);
  constexpr std::int64_t swapped[] = {1, 0};
  if (call.integer("transA") != 0) a = permuted(a, swapped);
  if (call.integer("transB") != 0) b = permuted(b, swapped);
  const float alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  if (!is_narrow_real(call.output_type(0))) return lower_wide_gemm(call, a, b, alpha, beta);
  a = rows_side_by_side(call, call.as_real(a));
  if (!call.is_stored_constant(1)) b = call.as_real(b);
  const View output = call.make(ElementType::float32, call.output_dims(0));
  ProductParameters parameters;
  std::vector<View> inputs = {a, b};
  Expression& e = parameters.epilogue;
  if (alpha != 1 || (call.has_input(2) && beta != 0)) {
    Expression::Number sum = e.input(0, Lane::f32);
    if (alpha != 1) sum = e.apply(Operation::multiply, sum, e.constant(Lane::f32, alpha));
    if (call.has_input(2) && beta != 0) {
      const View bias = call.input(2);
      Expression::Number added = e.input(1, lane_of(bias.type));
      if (beta != 1) added = e.apply(Operation::multiply, added, e.constant(Lane::f32, beta));
      e.apply(Operation::add, sum, added);
      inputs.push_back(broadcast_to(bias, output.dims));
    }
  }
  if (const auto weights = call.dequantized_input(1, call.integer("transB") != 0)) {
    parameters.blocks = weights->blocks;
    inputs[1] = bytes_of(call, weights->numbers);
    emit_packed_product(call, std::move(inputs), output, std::move(parameters), weights->numbers);
  } else {
    call.emit(product_step, std::move(inputs), {output}, std::move(parameters));
  }
  call.set_output(0, output);
  return std::nullopt;
}

/// com.microsoft's FusedMatMul and TransposeMatMul: factors perhaps transposed, the product times alpha.
Unlowered lower_fused_matmul(LowerCall& call) {
  if (!is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  if (call.integer("transBatchA") != 0 || call.integer("transBatchB") != 0) return "the batch is among the rows";
  if (element_count(call.output_dims(0)) == 0 || call.input(0).size() == 0) return "without elements";
  View factors[2];
  for (const std::size_t i : {0U, 1U}) {
    factors[i] = i == 1 && call.is_constant(1) ? call.input(1) : call.as_real(call.input(i));
    if (factors[i].rank() < 2) return "a factor of one axis";
    if (call.integer(i == 0 ? "transA" : "transB") == 0) continue;
    std::vector<std::int64_t> order(factors[i].rank());
    for (std::size_t axis = 0; axis < order.size(); ++axis) order[axis] = static_cast<std::int64_t>(axis);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    factors[i] = permuted(factors[i], order);
  }
  const Dims& b = factors[1].dims;
  if (call.is_constant(1) && element_count(std::span(b).first(b.size() - 2)) != 1)
    factors[1] = call.as_real(factors[1]);
  const View product = matrix_product(call, factors[0], factors[1], call.output_dims(0));
  Expression e;
  const auto alpha = static_cast<double>(call.real("alpha", 1));
  e.apply(Operation::multiply, e.input(0, Lane::f32), e.constant(Lane::f32, alpha));
  give(call, alpha == 1 ? product : mapped(call, e, {product}, ElementType::float32, product.dims));
  return std::nullopt;
}

}  // namespace

void register_matmul(LoweringRegistry& registry);
void register_matmul(LoweringRegistry& registry) {
  registry.add("MatMul", all_versions(), lower_matmul);
  registry.add("com.microsoft", "MatMulInteger16", all_versions(), lower_matmul);
  registry.add("Gemm", since(7), lower_gemm);
  for (const char* op : {"FusedMatMul", "TransposeMatMul"})
    registry.add("com.microsoft", op, all_versions(), lower_fused_matmul);
}

}  // namespace onnxkit::plan
