// MatMul: numpy's matmul, stacks of matrices broadcast. MatMulInteger, QLinearMatMul: the same of what is left of integers (since 21 float8, too)
// when their zero points are subtracted; scales and zero points are single, or one for each row of A and column of B.
#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/derivatives.h"
#include "reference/numerics/arithmetic.h"
#include "reference/numerics/quantize.h"

namespace onnxkit::reference {
namespace {

void matmul(KernelContext& context) {
  context.set_output(0, matrix_product(context, context.input(0), context.input(1)));
}

/// A factor without its zero point, as a matrix or a stack of them. Products and sums of 8-bit integers are exact in double.
Tensor factor(const KernelContext& context, std::size_t input, std::size_t zero_point, bool is_left) {
  Tensor x = context.input(input);
  require(x.rank() > 0, "a scalar cannot be multiplied as a matrix");
  if (x.rank() == 1) x = x.reshaped(is_left ? Dims{1, x.size()} : Dims{x.size(), 1});
  return without_zero_point(context, x, context.find_input(zero_point), x.rank() - (is_left ? 2 : 1));
}

/// The product of inputs `a` and `b` without the axes that were added to vectors.
Tensor product_of(const KernelContext& context, const Tensor& product, std::size_t a, std::size_t b) {
  Dims dims = product.dims();
  if (context.input(b).rank() == 1) dims.pop_back();
  if (context.input(a).rank() == 1) dims.erase(dims.end() - (context.input(b).rank() == 1 ? 1 : 2));
  return product.reshaped(dims);
}

void matmul_integer(KernelContext& context) {
  const Tensor product = matrix_product(context, factor(context, 0, 2, true), factor(context, 1, 3, false));
  const Tensor y = map<double, std::int64_t>(context, product, ElementType::int32,
                                             [](double v) { return truncate_to<std::int64_t>(v); });
  context.set_output(0, product_of(context, y, 0, 1));
}

/// A scale that broadcasts against the product.
Tensor scale_of_matmul(const KernelContext& context, std::size_t input, bool is_left) {
  const Tensor& scale = context.input(input);
  if (scale.size() == 1) return scale.reshaped({});
  return is_left && scale.rank() == 1 ? scale.reshaped({scale.size(), 1}) : scale;
}

void qlinear_matmul(KernelContext& context) {
  const Tensor product = matrix_product(context, factor(context, 0, 2, true), factor(context, 3, 5, false));
  const double y_scale = context.input(6).real();
  const Tensor a_scale = scale_of_matmul(context, 1, true), b_scale = scale_of_matmul(context, 4, false);
  const Dims scaled = broadcast_dims(a_scale.dims(), b_scale.dims());
  require(broadcast_dims(product.dims(), scaled) == product.dims(), "the scales do not match the product");
  const Tensor y =
      map<double, double, double, double>(context, product, a_scale, b_scale, ElementType::float64,
                                          [=](double v, double a, double b) { return v * (a * b) / y_scale; });
  context.set_output(0, product_of(context, quantized(context, y, context.input(7)), 0, 3));
}

}  // namespace

void register_matmul(KernelRegistry& registry) {
  registry.add("MatMul", all_versions(), matmul, {.noise = noise::matrix_product, .derivative = derivative::matmul});
  registry.add("MatMulInteger", all_versions(), matmul_integer, {.is_quantizing = true});
  registry.add("QLinearMatMul", all_versions(), qlinear_matmul, {.noise = noise::ordinary, .is_quantizing = true});
}

}  // namespace onnxkit::reference
