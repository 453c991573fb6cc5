#include <algorithm>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/compose.h"

// Products of com.microsoft with weights of a few bits.
namespace onnxkit::plan {
namespace {

constexpr std::size_t weights_input = 1, scales_input = 2, zeros_input = 3, order_input = 4, bias_input = 5;

/// What the attributes say, without tensors; nothing where the reference would not take it.
std::optional<BlockedWeights> stated_blocks(LowerCall& call) {
  BlockedWeights blocks{.n = call.integer("N"),
                        .k = call.integer("K"),
                        .bits = call.integer("bits", 4),
                        .size = call.integer("block_size"),
                        .scales = {},
                        .zeros = {}};
  const bool has_bits = blocks.bits == 2 || blocks.bits == 4 || blocks.bits == 8;
  // What is larger fits no memory, and products of sizes must not overflow.
  constexpr std::int64_t most_numbers = 1 << 20, most_weights = std::int64_t{1} << 40;
  const bool has_sizes = blocks.n > 0 && blocks.k > 0 && blocks.size >= 8 && blocks.size % 8 == 0 &&
                         blocks.size <= most_numbers && blocks.n <= most_weights / std::max(blocks.k, blocks.size);
  if (!has_bits || !has_sizes) return std::nullopt;
  blocks.zero = static_cast<float>(1U << static_cast<std::uint32_t>(blocks.bits - 1));
  blocks.number_strides = {.column = blocks.blocks() * blocks.size, .row = 1};
  blocks.scale_strides = blocks.zero_strides = {.column = blocks.blocks(), .row = 1};
  return blocks;
}

/// Bytes of the packed zero points of a column, which begin with a byte.
std::int64_t zero_bytes(const BlockedWeights& blocks) { return (blocks.blocks() * blocks.bits + 7) / 8; }

/// One scale and zero point for each block.
bool fit(LowerCall& call, const BlockedWeights& blocks) {
  const std::int64_t count = blocks.n * blocks.blocks();
  if (call.input(weights_input).size() != count * blocks.block_bytes() || blocks.scales.size() != count) return false;
  if (blocks.zeros.type() == ElementType::undefined) return true;
  if (is_floating(blocks.zeros.type())) return blocks.zeros.size() == count;
  return blocks.zeros.type() == ElementType::uint8 && blocks.zeros.size() == blocks.n * zero_bytes(blocks);
}

/// A backend that takes no packed weights gets a constant of float32.
Unlowered lower_matmul_n_bits(LowerCall& call) {
  if (!is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  if (call.is_exact()) return "its weights would be rounded to float32";
  if (call.integer("weight_prepacked") != 0) return "weights in an order that is not portable";
  if (call.has_input(order_input)) return "channels in groups of their own order";
  auto blocks = stated_blocks(call);
  if (!blocks) return "the sizes do not fit";
  const auto packed = call.constant_content(weights_input), scales = call.constant_content(scales_input);
  const auto zeros = call.constant_content(zeros_input);
  if (!packed || !scales || (call.has_input(zeros_input) && !zeros)) return "the weights are not constant";
  blocks->scales = *scales;
  if (zeros) blocks->zeros = *zeros;
  if (zeros && !is_floating(zeros->type())) blocks->zero_strides.column = zero_bytes(*blocks) * 8 / blocks->bits;
  const Dims dims = call.output_dims(0);
  const Dims a_dims = call.input_dims(0);
  if (a_dims.empty() || a_dims.back() != blocks->k || !fit(call, *blocks)) return "the sizes do not fit";
  if (element_count(dims) == 0) return "without elements";
  const std::int64_t rows = element_count(dims) / blocks->n;
  const View a = rows_side_by_side(call, reshaped_or_copied(call, call.as_real(call.input(0)), {rows, blocks->k}));
  const View output = call.make(ElementType::float32, {rows, blocks->n});
  std::vector<View> inputs = {a, call.input(weights_input)};
  ProductParameters parameters;
  if (call.has_input(bias_input)) {
    const View bias = call.input(bias_input);
    if (bias.dims != Dims{blocks->n}) return "a bias of other sizes";
    Expression& e = parameters.epilogue;
    e.apply(Operation::add, e.input(0, Lane::f32), e.input(1, lane_of(bias.type)));
    inputs.push_back(broadcast_to(bias, output.dims));
  }
  parameters.blocks = std::make_shared<const BlockedWeights>(*blocks);
  emit_packed_product(call, std::move(inputs), output, std::move(parameters), *packed);
  call.set_output(0, reshaped(output, dims));
  return std::nullopt;
}

}  // namespace

void register_packed_matmul(LoweringRegistry& registry);
void register_packed_matmul(LoweringRegistry& registry) {
  registry.add("com.microsoft", "MatMulNBits", all_versions(), lower_matmul_n_bits);
}

}  // namespace onnxkit::plan
