#include "libonnxkit/plan/dequantized_matrix.h"

#include <algorithm>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

bool swaps_two_axes(const Subject& subject, const ir::Node& node) {
  const auto dims = subject.dims(node.outputs[0]);
  const ir::Attribute* perm = node.find_attribute("perm");
  const auto* order = perm ? perm->as<std::vector<std::int64_t>>() : nullptr;
  return dims && dims->size() == 2 && (!order || *order == std::vector<std::int64_t>{1, 0});
}

bool is_of_few_bits(ElementType type) {
  using enum ElementType;
  return type == int2 || type == uint2 || type == int4 || type == uint4 || type == int8 || type == uint8;
}

/// Of a tensor of these two axes, of which `row` is the one of rows.
BlockedWeights::Strides strides_of(const Dims& dims, std::size_t row) {
  return row == 0 ? BlockedWeights::Strides{.column = 1, .row = dims[1]}
                  : BlockedWeights::Strides{.column = dims[1], .row = 1};
}

/// Sets size, and the strides of scales and zero points. False where scales are shared in another way.
bool set_blocks(BlockedWeights& weights, const ir::Node& node, const Dims& dims, std::size_t row) {
  constexpr std::int64_t unit = 8;
  const std::int64_t block = integer_of(node, "block_size", 0), given_axis = integer_of(node, "axis", 1);
  const auto axis = static_cast<std::size_t>(given_axis < 0 ? given_axis + 2 : given_axis);
  const Dims& scales = weights.scales.dims();
  const std::int64_t whole = (weights.k + unit - 1) / unit * unit;
  weights.size = block != 0 ? std::min(block, whole) : whole;  // a block that reaches beyond its column is one
  if (block < 0 || block % unit != 0 || axis > 1) return false;
  if (block != 0) {
    Dims expected = dims;
    expected[row] = weights.blocks();
    if (axis != row || scales != expected) return false;
    weights.scale_strides = strides_of(scales, row);
  } else if (weights.scales.size() == 1 && scales.size() <= 1) {
    weights.scale_strides = {};
  } else {
    if (axis == row || scales != Dims{weights.n}) return false;
    weights.scale_strides = {.column = 1, .row = 0};
  }
  weights.zero_strides = weights.scale_strides;
  return true;
}

}  // namespace

std::optional<DequantizedMatrix> dequantized_matrix(const Subject& subject, ir::ValueId value, bool transposed) {
  for (int i = 0; i < most_transposes; ++i) {
    const ir::Node* const turn = subject.writer(value, "Transpose");
    if (!turn || !swaps_two_axes(subject, *turn)) break;
    value = turn->inputs[0];
    transposed = !transposed;
  }
  const ir::Node* const node = subject.writer(value, "DequantizeLinear");
  if (!node || !is_narrow_real(subject.type(value)) || !is_of_few_bits(subject.type(node->inputs[0])))
    return std::nullopt;
  const auto numbers = subject.content(node->inputs[0]), scales = subject.content(node->inputs[1]);
  const ir::ValueId zero = input_of(*node, 2);
  const auto zeros = zero == ir::ValueId::none ? std::optional<Tensor>(Tensor()) : subject.content(zero);
  if (!numbers || !scales || !zeros || numbers->dims().size() != 2 || numbers->size() == 0) return std::nullopt;
  if (!is_narrow_real(scales->type())) return std::nullopt;
  if (zero != ir::ValueId::none && (zeros->type() != numbers->type() || zeros->dims() != scales->dims()))
    return std::nullopt;
  const std::size_t row = transposed ? 1 : 0;
  BlockedWeights weights{.n = numbers->dims()[1 - row],
                         .k = numbers->dims()[row],
                         .bits = storage_bits(numbers->type()),
                         .is_signed = domain_of(numbers->type()) == Domain::integer,
                         .scales = *scales,
                         .zeros = *zeros,
                         .number_strides = strides_of(numbers->dims(), row)};
  if (weights.is_signed) weights.zero = static_cast<float>(1U << static_cast<std::uint32_t>(weights.bits - 1));
  if (is_16_bit_real(subject.type(value))) weights.rounded_to = subject.type(value);
  if (!set_blocks(weights, *node, numbers->dims(), row)) return std::nullopt;
  return DequantizedMatrix{.numbers = *numbers, .blocks = std::make_shared<const BlockedWeights>(std::move(weights))};
}

namespace {

bool is_read_in_blocks(const Subject& subject, ir::ValueId value, int transposes) {
  if (subject.uses().is_output(value)) return false;
  const auto readers = subject.uses().consumers(value);
  return std::all_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
    const ir::Node& node = subject.graph().nodes[reader];
    if (Subject::is_op(node, "Transpose"))
      return transposes > 0 && is_read_in_blocks(subject, node.outputs[0], transposes - 1);
    const bool is_gemm = Subject::is_op(node, "Gemm");
    if ((!is_gemm && !Subject::is_op(node, "MatMul")) || input_of(node, 1) != value ||
        std::count(node.inputs.begin(), node.inputs.end(), value) != 1)
      return false;
    return is_narrow_real(subject.type(node.outputs[0])) &&
           dequantized_matrix(subject, value, is_gemm && integer_of(node, "transB", 0) != 0).has_value();
  });
}

}  // namespace

bool is_read_in_blocks(const Subject& subject, ir::ValueId value) {
  return is_read_in_blocks(subject, value, most_transposes);
}

}  // namespace onnxkit::plan
