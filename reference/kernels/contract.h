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
  const Multiplier with{.threads = context.threads(),
                        .device = context.products(),
                        .shared = context.shared_factors(),
                        .poll = [&context] { context.check_alive(); }};
  if constexpr (std::is_same_v<T, double>) {
    if (const Noise* noise = context.noise()) return noise->multiply(with, a, b, c, accumulate, factor);
    if (type == ElementType::float64) return gemm_exact(with.threads, a, b, c, accumulate, with.poll);
    return multiply_doubles(with, a, b, c, accumulate);
  } else {
    gemm(with.threads, a, b, c, accumulate, with.poll);
  }
}

/// numpy.matmul: vectors become matrices for the product, leading axes broadcast. The result has a's element type.
Tensor matrix_product(const KernelContext& context, const Tensor& a, const Tensor& b);

}  // namespace onnxkit::reference
