#include "libonnxkit/cpu/right_factor.h"

#include <algorithm>

#include <fmt/format.h>

namespace onnxkit::cpu {
namespace {

NumberBlocks numbers_of(const plan::BlockedWeights& blocks, std::int64_t n) {
  const Rounding rounding = blocks.rounded_to == ElementType::float16    ? Rounding::float16
                            : blocks.rounded_to == ElementType::bfloat16 ? Rounding::bfloat16
                                                                         : Rounding::none;
  return {.k = blocks.k, .n = n, .bits = blocks.bits == 8 ? 8 : 4, .size = blocks.size, .rounding = rounding};
}

}  // namespace

void RightFactor::give(Product& product) const {
  product.stored_b = stored;
  if (!packed) return;
  product.packed_b = packed->data();
  product.numbers = numbers ? &*numbers : nullptr;
}

RightFactor right_factor(const View& b, Preparation& preparation) {
  RightFactor factor;
  // Numbers of half the size are read where they lie: packed ahead, a large model would take memory for both or twice as much.
  if (b.type == ElementType::bfloat16) {
    const auto content = preparation.plan.constants[preparation.plan.buffers[b.buffer].index].bytes();
    factor.stored = {.from = reinterpret_cast<const Bfloat16*>(content.data()) + b.offset,
                     .k_stride = b.strides[0],
                     .n_stride = b.strides[1]};
    return factor;
  }
  factor.packed = preparation.pack_once(preparation.weight_key("b", b), [&] {
    auto floats = std::make_shared<AlignedFloats>(packed_b_floats(b.dims[0], b.dims[1]));
    const auto numbers = preparation.stored(b);
    pack_b(preparation.threads, floats->data(), numbers.data(), b.dims[0], b.dims[1], numbers.strides[0],
           numbers.strides[1]);
    return floats;
  });
  return factor;
}

/// Packed once for a session where all of it lies in the model's file.
RightFactor right_factor(const View& b, const plan::BlockedWeights& blocks, std::int64_t first, std::int64_t n,
                         Preparation& preparation) {
  WeightKey key = preparation.weight_key(fmt::format("{}, {} from {}", blocks.text(), n, first), b);
  for (const Tensor* tensor : {&blocks.scales, &blocks.zeros}) {
    if (tensor->type() == ElementType::undefined) continue;
    key.name += fmt::format(" {}", fmt::ptr(tensor->bytes().data()));
    key.is_lasting = key.is_lasting && preparation.is_lasting(*tensor);
  }
  RightFactor factor;
  factor.numbers = numbers_of(blocks, n);
  factor.packed = preparation.pack_once(key, [&] {
    auto floats = std::make_shared<AlignedFloats>(packed_number_floats(*factor.numbers));
    const auto content = preparation.plan.constants[preparation.plan.buffers[b.buffer].index].bytes();
    const auto read = [&](std::int64_t column, std::uint8_t* to, float* scales, float* zeros) {
      plan::BlockedColumn of;
      read_column(blocks, content, first + column, of);
      std::copy(of.numbers.begin(), of.numbers.end(), to);
      std::copy(of.scales.begin(), of.scales.end(), scales);
      std::copy(of.zeros.begin(), of.zeros.end(), zeros);
    };
    pack_numbers(preparation.threads, floats->data(), *factor.numbers, read);
    return floats;
  });
  return factor;
}

}  // namespace onnxkit::cpu
