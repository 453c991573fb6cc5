// Gemm: alpha * A' * B' + beta * C. Until version 6 C is broadcast only when `broadcast` says so; from 7 on it always broadcasts to the
// product, and from 11 on it may be left out.
#include <fmt/core.h>

#include "reference/kernels/broadcast.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/derivatives.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

template <class T>
MatrixView<const T> factor_gemm(const KernelContext& context, std::size_t input, std::string_view transposed) {
  const Tensor& x = context.input(input);
  require(x.rank() == 2, "A and B must be matrices");
  const MatrixView<const T> matrix = row_major(x.as<T>().data(), x.dim(0), x.dim(1));
  return context.integer(transposed) != 0 ? matrix.transposed() : matrix;
}

/// Integers times a fraction are truncated.
template <class T>
Tensor scaled_gemm(const KernelContext& context, const Tensor& x, float by) {
  if (by == 1) return x;
  return map<T, T>(context, x, x.type(), [by](T v) {
    if constexpr (std::is_same_v<T, double>)
      return v * by;
    else
      return truncate_to<T>(static_cast<double>(v) * by);
  });
}

void gemm(KernelContext& context) {
  const Tensor& first = context.input(0);
  require(first.type() == context.input(1).type(), "A and B have different element types");
  context.set_output(
      0, dispatch_numbers(first.domain(), [&]<class T>(std::type_identity<T>) {
        const auto a = factor_gemm<T>(context, 0, "transA");
        const auto b = factor_gemm<T>(context, 1, "transB");
        require(a.columns == b.rows, [&] {
          return fmt::format("inner sizes differ: [{}, {}] times [{}, {}]", a.rows, a.columns, b.rows, b.columns);
        });
        Tensor product = context.make(first.type(), {a.rows, b.columns});
        multiply_matrices<T>(context, first.type(), a, b, row_major(product.write<T>().data(), a.rows, b.columns));
        product = scaled_gemm<T>(context, product, context.real("alpha", 1));
        const Tensor* c = context.find_input(2);
        const float beta = context.real("beta", 1);
        if (!c || beta == 0) return product;
        const bool broadcasts = context.since() >= 7 || context.integer("broadcast") != 0;
        require(c->type() == first.type(), "C has a different element type");
        require(
            c->dims() == product.dims() || (broadcasts && broadcast_dims(c->dims(), product.dims()) == product.dims()),
            "C does not broadcast to the product");
        return map<T, T, T>(context, product, scaled_gemm<T>(context, *c, beta), first.type(),
                            [](T p, T q) { return add(p, q); });
      }));
}

}  // namespace

void register_gemm(KernelRegistry& registry) {
  registry.add("Gemm", all_versions(), gemm, {.noise = noise::matrix_product, .derivative = derivative::gemm});
}

}  // namespace onnxkit::reference
