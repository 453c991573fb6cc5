#include "libonnxkit/plan/lowering.h"

namespace onnxkit::plan {
namespace {

Unlowered unfit_product(LowerCall& call) {
  if (!is_floating(call.output_type(0)) || call.output_type(0) == ElementType::float64)
    return "only for real numbers of 32 bits and less";
  if (element_count(call.output_dims(0)) == 0 || element_count(call.input_dims(0)) == 0) return "without elements";
  return std::nullopt;
}

/// Rows of numbers side by side, as kernels read a.
View with_rows(LowerCall& call, const View& view) {
  const View real = call.as_real(view);
  const std::size_t rank = real.rank();
  if (real.strides[rank - 1] == 1 || real.dims[rank - 1] == 1) return real;
  return call.contiguous(real);
}

Unlowered lower_matmul(LowerCall& call) {
  if (const auto reason = unfit_product(call)) return reason;
  View a = call.input(0), b = call.input(1);
  if (a.rank() == 0 || b.rank() == 0) return "a scalar";
  Dims dims = call.output_dims(0);
  const Dims result = dims;
  if (a.rank() == 1)
    a.dims.insert(a.dims.begin(), 1), a.strides.insert(a.strides.begin(), a.dims[1]),
        dims.insert(b.rank() == 1 ? dims.end() : dims.end() - 1, 1);
  if (b.rank() == 1) b.dims.push_back(1), b.strides.push_back(1), dims.push_back(1);
  // One matrix b for all of a: the leading axes of a are rows.
  const bool is_shared = element_count(std::span(b.dims).first(b.rank() - 2)) == 1;
  a = with_rows(call, a);
  if (!call.is_constant(1)) b = call.as_real(b);
  const View output = call.make(ElementType::float32, dims);
  View product = output;
  if (is_shared && dims.size() > 2) {
    const std::int64_t rows = element_count(std::span(dims).first(dims.size() - 1));
    auto flat = reshaped(a, {rows, a.dims.back()});
    if (!flat) flat = reshaped(call.contiguous(a), {rows, a.dims.back()});
    a = *flat;
    b = *reshaped(b, {b.dims[b.rank() - 2], b.dims.back()});
    product = *reshaped(output, {rows, dims.back()});
  } else {
    Dims leading(dims.begin(), dims.end() - 2), a_dims = leading, b_dims = leading;
    a_dims.insert(a_dims.end(), a.dims.end() - 2, a.dims.end());
    b_dims.insert(b_dims.end(), b.dims.end() - 2, b.dims.end());
    a = broadcast_to(a, a_dims);
    b = broadcast_to(b, b_dims);
  }
  call.emit(product_step, {a, b}, {product}, ProductParameters());
  call.set_output(0, *reshaped(output, result));
  return std::nullopt;
}

Unlowered lower_gemm(LowerCall& call) {
  if (const auto reason = unfit_product(call)) return reason;
  View a = call.input(0), b = call.input(1);
  constexpr std::int64_t swapped[] = {1, 0};
  if (call.integer("transA") != 0) a = permuted(a, swapped);
  if (call.integer("transB") != 0) b = permuted(b, swapped);
  const float alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  a = with_rows(call, a);
  if (!call.is_constant(1)) b = call.as_real(b);
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
  call.emit(product_step, std::move(inputs), {output}, std::move(parameters));
  call.set_output(0, output);
  return std::nullopt;
}

}  // namespace

void register_matmul(LoweringRegistry& registry);
void register_matmul(LoweringRegistry& registry) {
  registry.add("MatMul", all_versions(), lower_matmul);
  registry.add("Gemm", since(7), lower_gemm);
}

}  // namespace onnxkit::plan
