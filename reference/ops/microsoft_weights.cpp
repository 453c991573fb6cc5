// com.microsoft: weights packed in blocks of few bits, gathered or multiplied.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/contract.h"
#include "reference/kernels/packed_numbers.h"
#include "reference/kernels/select.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

/// What the 16 codes of FP4 stand for: sign, two bits of exponent, one of mantissa, scaled to 1.
constexpr std::array<double, 16> fp4 = {0,   0.005208333333333333,  2.0 / 3,  1,  1.0 / 3,  0.5,  1.0 / 6,  0.25,
                                        -0., -0.005208333333333333, -2.0 / 3, -1, -1.0 / 3, -0.5, -1.0 / 6, -0.25};
/// Of NF4: quantiles of the normal distribution.
constexpr std::array<double, 16> nf4 = {-1,
                                        -0.6961928009986877,
                                        -0.5250730514526367,
                                        -0.39491748809814453,
                                        -0.28444138169288635,
                                        -0.18477343022823334,
                                        -0.09105003625154495,
                                        0,
                                        0.07958029955625534,
                                        0.16093020141124725,
                                        0.24611230194568634,
                                        0.33791524171829224,
                                        0.44070982933044434,
                                        0.5626170039176941,
                                        0.7229568362236023,
                                        1};

/// A times B' (transB) or B, which lies flat as codes of four bits, the first in the high ones, a scale for each block.
void matmul_bnb4(KernelContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& codes = context.input(1);
  const Tensor scales = as_reals(context, context.input(2));
  const std::int64_t k = context.integer("K"), n = context.integer("N"), block = context.integer("block_size");
  const std::int64_t type = context.integer("quant_type");
  require(k > 0 && n > 0 && block > 0 && (type == 0 || type == 1), "K, N, block_size or quant_type is out of range");
  const bool transposed = context.integer("transB", 1) != 0;
  Tensor weight = context.make(real_type, transposed ? Dims{n, k} : Dims{k, n});
  const std::int64_t count = weight.size();
  require(codes.size() == (count + 1) / 2 && scales.size() == count / block + (count % block != 0 ? 1 : 0),
          "the size of B or absmax does not match K, N and block_size");
  const std::span<double> out = weight.write<double>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t pair = codes.as<std::uint64_t>()[i / 2];
    const std::size_t code = (i % 2 == 0 ? pair >> 4 : pair) & 15;
    out[i] = (type == 0 ? fp4 : nf4)[code] * scales.as<double>()[i / static_cast<std::size_t>(block)];
  }
  if (transposed) {
    constexpr std::int64_t swapped[] = {1, 0};
    weight = permute(context, weight, swapped);
  }
  context.set_output(0, matrix_product(context, as_reals(context, a), weight).retyped(a.type()));
}

// ---- GatherBlockQuantized

/// Packed uint8 as one number for each element of `bits` bits, low bits first, along the last axis of that size.
Tensor unpacked_microsoft(const KernelContext& context, const Tensor& packed, std::int64_t bits, std::int64_t last) {
  if (packed.type() != ElementType::uint8 || bits == 8) return as_reals(context, packed);
  const std::int64_t per_byte = 8 / bits;
  require(packed.rank() > 0 && packed.dims().back() == (last + per_byte - 1) / per_byte,
          "a packed axis has the wrong size");
  Dims dims = packed.dims();
  dims.back() = last;
  Tensor numbers = context.make(real_type, std::move(dims));
  const std::span<double> out = numbers.write<double>();
  const auto columns = static_cast<std::size_t>(last), bytes = static_cast<std::size_t>(packed.dims().back());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<double>(
        packed_number(packed.as<std::uint64_t>(), i / columns * bytes, i % columns, static_cast<std::size_t>(bits)));
  }
  return numbers;
}

/// Rows of a table along gather_axis, then (row - zero point) * scale; indices beyond the axis give zeros.
void gather_block_quantized(KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& scales = context.input(2);
  const std::int64_t bits = context.integer("bits", 4), block = context.integer("block_size", 128);
  require(bits == 2 || bits == 4 || bits == 8, "bits must be 2, 4 or 8");
  require(data.rank() > 0 && scales.rank() == data.rank(), "data and scales differ in rank");
  const bool packed = data.type() == ElementType::uint8;
  Dims dims = data.dims();
  if (packed) dims.back() *= 8 / bits;
  const std::int64_t gather_axis = normalize_axis(context.integer("gather_axis"), data.rank());
  const std::int64_t axis = normalize_axis(context.integer("quantize_axis", 1), data.rank());
  require(block > 0, "block_size is not positive");
  std::vector<std::vector<std::int64_t>> blocks;
  for (const std::int64_t size : dims) blocks.push_back(identity_index(size));
  for (std::int64_t& i : blocks[static_cast<std::size_t>(axis)]) i /= block;
  for (std::size_t k = 0; k < dims.size(); ++k)
    require(blocks[k].empty() || blocks[k].back() < scales.dims()[k], "there must be one scale per block");
  const auto spread = [&](const Tensor& x) { return select(context, x, blocks); };
  Tensor zero = context.scalar(real_type, packed ? static_cast<double>(1 << (bits - 1)) : 0);
  if (const Tensor* given = context.find_input(3)) {
    zero = unpacked_microsoft(context, *given, bits, scales.dims().back());
    require(zero.dims() == scales.dims(), "there must be one zero point per block");
    zero = spread(zero);
  }
  const Tensor scale = spread(as_reals(context, scales));
  const Tensor table = dequantized(context, unpacked_microsoft(context, data, bits, dims.back()), &scale, &zero);
  const Tensor& indices = context.input(1);
  std::vector<std::vector<std::int64_t>> index;
  for (const std::int64_t size : dims) index.push_back(identity_index(size));
  index[static_cast<std::size_t>(gather_axis)].clear();
  const std::int64_t size = dims[static_cast<std::size_t>(gather_axis)];
  for (const std::int64_t i : indices.integers())
    index[static_cast<std::size_t>(gather_axis)].push_back(i >= -size && i < size ? (i + size) % size : no_source);
  dims.erase(dims.begin() + gather_axis);
  dims.insert(dims.begin() + gather_axis, indices.dims().begin(), indices.dims().end());
  context.set_output(0, select(context, table, index).reshaped(std::move(dims)).retyped(scales.type()));
}

}  // namespace

void register_microsoft_weights(KernelRegistry& registry) {
  registry.add(microsoft_domain, "MatMulBnb4", all_versions(), matmul_bnb4, {.noise = noise::ordinary});
  registry.add(microsoft_domain, "GatherBlockQuantized", all_versions(), gather_block_quantized,
               {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
