#pragma once

#include "reference/executor/kernel.h"
#include "reference/executor/tensor.h"
#include "reference/kernels/product.h"
#include "reference/noise/noise.h"

// Contractions of tensors, on top of gemm.
namespace onnxkit::reference {

/// c = a * b or c += a * b in the domain of T: products and sums of float64 elements in double-double, all else as gemm; a noisy run as gemm
/// with the errors of the arithmetic that it imitates, `factor` times as large.
template <class T>
void multiply_matrices(const KernelContext& context, ElementType type, MatrixView<const T> a, MatrixView<const T> b,
                       MatrixView<T> c, bool accumulate = false, double factor = 1) {
  const Poll poll = [&context] { context.check_alive(); };
  if constexpr (std::is_same_v<T, double>) {
    if (const Noise* noise = context.noise()) {
      return noise->multiply(context.threads(), context.products(), a, b, c, accumulate, factor, poll);
    }
    if (type == ElementType::float64) return gemm_exact(context.threads(), a, b, c, accumulate, poll);
    return multiply_doubles(context.threads(), context.products(), a, b, c, accumulate, poll);
  } else {
    gemm(context.threads(), a, b, c, accumulate, poll);
  }
}

/// numpy.matmul: vectors become matrices for the product, leading axes broadcast. The result has a's element type.
Tensor matrix_product(const KernelContext& context, const Tensor& a, const Tensor& b);

}  // namespace onnxkit::reference
