// com.microsoft: matrix products fused with transposes, scales, bias and activations, of floats, quantized numbers and packed weights.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/packed_numbers.h"
#include "reference/kernels/select.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

Tensor scaled(const KernelContext& context, const Tensor& x, double by, ElementType type) {
  return map_reals(context, x, type, [by](double v) { return v * by; });
}

/// An activation by its name in fused operators.
class MicrosoftActivation {
 public:
  explicit MicrosoftActivation(const KernelContext& context)
      : name_(context.string("activation")),
        alpha_(context.find_real("activation_alpha")),
        beta_(context.find_real("activation_beta")) {
    constexpr std::string_view known[] = {"",    "Relu",     "LeakyRelu", "Sigmoid",         "Tanh",
                                          "Elu", "Softplus", "Softsign",  "ThresholdedRelu", "HardSigmoid"};
    require(std::find(std::begin(known), std::end(known), name_) != std::end(known), "the activation is unknown");
  }

  Tensor apply(const KernelContext& context, const Tensor& x, ElementType type) const {
    return map_reals(context, x, type, [this](double v) { return value(v); });
  }

 private:
  double value(double x) const {
    if (name_ == "Relu") return std::max(x, 0.0);
    if (name_ == "LeakyRelu") return x < 0 ? x * alpha_.value_or(0.01f) : x;
    if (name_ == "Sigmoid") return 1 / (1 + std::exp(-x));
    if (name_ == "Tanh") return std::tanh(x);
    if (name_ == "Elu") return x < 0 ? alpha_.value_or(1) * std::expm1(x) : x;
    if (name_ == "Softplus") return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    if (name_ == "Softsign") return x / (1 + std::abs(x));
    if (name_ == "ThresholdedRelu") return x > alpha_.value_or(1) ? x : 0;
    if (name_ == "HardSigmoid") return std::clamp(alpha_.value_or(0.2f) * x + beta_.value_or(0.5f), 0.0, 1.0);
    return x;
  }

  std::string_view name_;
  std::optional<float> alpha_, beta_;
};

// ---- floats

/// The operand under trans... (the last two axes change places) and transBatch... (the first axis comes behind the batch).
Tensor operand(const KernelContext& context, const Tensor& x, bool transposed, bool batch_transposed) {
  if (x.rank() < 2) return x;
  std::vector<std::int64_t> axes = identity_index(x.rank());
  if (batch_transposed) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (transposed) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permute(context, x, axes);
}

void fused_matmul(KernelContext& context) {
  const Tensor a =
      operand(context, context.input(0), context.integer("transA") != 0, context.integer("transBatchA") != 0);
  const Tensor b =
      operand(context, context.input(1), context.integer("transB") != 0, context.integer("transBatchB") != 0);
  const Tensor product = matrix_product(context, a, b);
  context.set_output(0, MicrosoftActivation(context).apply(
                            context, scaled(context, product, context.real("alpha", 1), a.type()), a.type()));
}

/// alpha * A' * B' + beta * C, then the activation.
void fused_gemm(KernelContext& context) {
  if (context.input(0).domain() != Domain::real)
    throw Fault("undefined-for-type", "activations are defined for floating-point numbers only");
  const Tensor a = operand(context, context.input(0), context.integer("transA") != 0, false);
  const Tensor b = operand(context, context.input(1), context.integer("transB") != 0, false);
  require(a.rank() == 2 && b.rank() == 2, "Gemm requires matrices");
  Tensor y = scaled(context, matrix_product(context, a, b), context.real("alpha", 1), a.type());
  if (const Tensor* c = context.find_input(2)) {
    const Dims dims = y.dims();
    y = sum_of(context, y, scaled(context, *c, context.real("beta", 1), a.type()));
    require(y.dims() == dims, "C does not broadcast to the product");
  }
  context.set_output(0, MicrosoftActivation(context).apply(context, y, a.type()));
}

/// A product plus the bias that may be an input, in the sizes of the product: that of two vectors has no axis, its bias one.
Tensor with_bias(const KernelContext& context, const Tensor& product, std::size_t input) {
  const Tensor* bias = context.find_input(input);
  if (!bias) return product;
  const Tensor sum = sum_of(context, product, *bias);
  require(sum.size() == product.size(), "the bias does not match");
  return sum.reshaped(product.dims());
}

/// The tanh form of Gelu on a product with bias.
void gemm_fast_gelu(KernelContext& context) {
  const Tensor& a = context.input(0);
  const Tensor y = with_bias(context, matrix_product(context, a, context.input(1)), 2);
  context.set_output(0, map_reals(context, y, a.type(), tanh_gelu_microsoft));
}

// ---- packed weights

struct Blocks {
  std::int64_t k, n, size, count;
  std::size_t bits;
};

/// Zero points of rows of blocks: packed as the weights, as numbers of their own, or the middle of the range.
Tensor zero_points(const KernelContext& context, const Blocks& blocks) {
  Tensor zeros = context.make(real_type, {blocks.n, blocks.count});
  const std::span<double> out = zeros.write<double>();
  const Tensor* given = context.find_input(3);
  if (!given) {
    std::fill(out.begin(), out.end(), static_cast<double>(1 << (blocks.bits - 1)));
    return zeros;
  }
  if (given->domain() == Domain::real) {
    require(given->size() == zeros.size(), "there must be one zero point per block");
    return as_reals(context, *given).reshaped(zeros.dims());
  }
  const auto row = static_cast<std::size_t>((blocks.count * static_cast<std::int64_t>(blocks.bits) + 7) / 8);
  require(given->size() == blocks.n * static_cast<std::int64_t>(row), "there must be one zero point per block");
  const auto count = static_cast<std::size_t>(blocks.count);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<double>(packed_number(given->as<std::uint64_t>(), i / count * row, i % count, blocks.bits));
  return zeros;
}

/// The weight [N, K] that blocks of packed numbers stand for.
Tensor unpacked_weight(const KernelContext& context, const Blocks& blocks) {
  const auto blob = static_cast<std::size_t>(blocks.size) * blocks.bits / 8;
  const Tensor& b = context.input(1);
  const Tensor scales = as_reals(context, context.input(2));
  const Dims packed = {blocks.n, blocks.count, static_cast<std::int64_t>(blob)}, per_block = {blocks.n, blocks.count};
  require(b.size() == element_count(packed), "the size of B does not match N, K, bits and block_size");
  require(scales.size() == element_count(per_block), "there must be one scale per block");
  const Tensor zeros = zero_points(context, blocks);
  Tensor weight = context.make(real_type, {blocks.n, blocks.k});
  const std::span<double> out = weight.write<double>();
  const auto k = static_cast<std::size_t>(blocks.k), size = static_cast<std::size_t>(blocks.size);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t block = i / k * static_cast<std::size_t>(blocks.count) + i % k / size;
    const auto number =
        static_cast<double>(packed_number(b.as<std::uint64_t>(), block * blob, i % k % size, blocks.bits));
    out[i] = (number - zeros.as<double>()[block]) * scales.as<double>()[block];
  }
  return weight;
}

void matmul_n_bits(KernelContext& context) {
  const Tensor& a = context.input(0);
  Blocks blocks{context.integer("K"), context.integer("N"), context.integer("block_size"), 0, 0};
  const std::int64_t bits = context.integer("bits", 4);
  require(bits == 2 || bits == 4 || bits == 8, "bits must be 2, 4 or 8");
  require(blocks.k > 0 && blocks.n > 0 && blocks.size >= 8 && blocks.size % 8 == 0 && blocks.size <= 1 << 20,
          "K, N or block_size is out of range");
  require(context.integer("weight_prepacked") == 0, "prepacked weights have no portable layout");
  require(!context.has_input(4), "g_idx is not supported");
  require(a.rank() >= 1 && a.dims().back() == blocks.k, "the last axis of A is not of size K");
  blocks.bits = static_cast<std::size_t>(bits);
  blocks.count = blocks.k / blocks.size + (blocks.k % blocks.size != 0 ? 1 : 0);
  const Tensor weight = unpacked_weight(context, blocks);
  const std::int64_t rows = a.size() / blocks.k;
  Dims dims = a.dims();
  dims.back() = blocks.n;
  Tensor y = context.make(a.type(), dims);
  const Tensor factor = factor_of_packed(context, a, blocks.k, blocks.size);
  multiply_matrices<double>(context, a.type(), row_major(factor.as<double>().data(), rows, blocks.k),
                            row_major(weight.as<double>().data(), blocks.n, blocks.k).transposed(),
                            row_major(y.write<double>().data(), rows, blocks.n));
  if (const Tensor* bias = context.find_input(5)) y = sum_of(context, y, *bias).retyped(a.type());
  require(y.dims() == dims, "the bias does not match");
  context.set_output(0, std::move(y));
}

// ---- quantized operands

/// A scale or zero point as an operand that broadcasts against a stack of matrices: one, one for each column, or one row for each matrix.
Tensor for_columns(const Tensor& given) { return given.size() == 1 ? given.reshaped({}) : given; }

Tensor matrix_operand(const KernelContext& context, std::size_t x, const Tensor* scale, std::size_t zero_input) {
  const Tensor* zero = context.find_input(zero_input);
  const Tensor by = scale ? for_columns(*scale) : Tensor();
  const Tensor from = zero ? for_columns(*zero) : Tensor();
  return dequantized(context, context.input(x), scale ? &by : nullptr, zero ? &from : nullptr);
}

void matmul_integer16(KernelContext& context) {
  const auto whole = [&](const Tensor& x) {
    if (x.domain() == Domain::integer) return x.retyped(ElementType::int64);
    return map<std::uint64_t, std::int64_t>(context, x, ElementType::int64,
                                            [](std::uint64_t v) { return static_cast<std::int64_t>(v); });
  };
  const Tensor product = matrix_product(context, whole(context.input(0)), whole(context.input(1)));
  const ElementType type = context.output_type(0);
  context.set_output(
      0, map<std::int64_t, std::int64_t>(context, product, type == ElementType::undefined ? ElementType::int32 : type,
                                         [](std::int64_t v) { return v; }));
}

void matmul_integer_to_float(KernelContext& context) {
  const Tensor a = matrix_operand(context, 0, &context.input(2), 4);
  const Tensor b = matrix_operand(context, 1, &context.input(3), 5);
  const Tensor y = with_bias(context, matrix_product(context, a, b), 6);
  context.set_output(0, y.retyped(context.input(2).type()));
}

void dynamic_quantize_matmul(KernelContext& context) {
  const Tensor& a = context.input(0);
  const Tensor b = matrix_operand(context, 1, &context.input(2), 3);
  const Tensor y = with_bias(context, matrix_product(context, through_uint8(context, a), b), 4);
  context.set_output(0, y.retyped(a.type()));
}

/// alpha * A' * B' + C in integers scaled by both; float without a scale of the result.
void qgemm(KernelContext& context) {
  const double alpha = context.real("alpha", 1);
  const bool trans_b = context.integer("transB") != 0;
  const Tensor a = operand(context, dequantized(context, context.input(0), affine_at(context, 1, 2)),
                           context.integer("transA") != 0, false);
  const auto spread = [&](const Tensor& given) {
    if (given.size() == 1) return given.reshaped({});
    return trans_b ? given.reshaped({given.size(), 1}) : given;
  };
  const Tensor b_scale = spread(context.input(4)), b_zero = spread(context.input(5));
  const Tensor b = operand(context, dequantized(context, context.input(3), &b_scale, &b_zero), trans_b, false);
  require(a.rank() == 2 && b.rank() == 2, "Gemm requires matrices");
  Tensor y = scaled(context, matrix_product(context, a, b), alpha, real_type);
  if (const Tensor* c = context.find_input(6)) {
    const double a_scale = context.input(1).real();
    const Tensor by = scaled(
        context, as_reals(context, context.input(4).size() == 1 ? context.input(4).reshaped({}) : context.input(4)),
        alpha * a_scale, real_type);
    const Tensor offset =
        map_reals(context, as_reals(context, *c), by, real_type, [](double v, double s) { return v * s; });
    const Dims dims = y.dims();
    y = sum_of(context, y, offset);
    require(y.dims() == dims, "C does not broadcast to the product");
  }
  if (!context.has_input(8)) return context.set_output(0, y.retyped(ElementType::float32));
  context.set_output(0, quantized(context, y, affine_at(context, 7, 8), context.input(8).type()));
}

}  // namespace

void register_microsoft_matmul(KernelRegistry& registry) {
  const auto add = [&registry](const char* op, Kernel kernel, const KernelTraits& traits = {}) {
    registry.add(microsoft_domain, op, all_versions(), kernel, traits);
  };
  add("FusedMatMul", fused_matmul, {.noise = noise::matrix_product});
  add("FusedMatMulActivation", fused_matmul, {.noise = noise::ordinary_product});
  add("TransposeMatMul", fused_matmul, {.noise = noise::ordinary_product});
  add("FusedGemm", fused_gemm, {.noise = noise::matrix_product});
  add("GemmFastGelu", gemm_fast_gelu, {.noise = noise::ordinary_product});
  add("MatMulNBits", matmul_n_bits, {.noise = noise::ordinary, .may_round_to_int8 = may_round_factor});
  add("MatMulInteger16", matmul_integer16);
  add("MatMulIntegerToFloat", matmul_integer_to_float, {.noise = noise::ordinary});
  add("DynamicQuantizeMatMul", dynamic_quantize_matmul, {.noise = noise::ordinary});
  add("QGemm", qgemm, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
