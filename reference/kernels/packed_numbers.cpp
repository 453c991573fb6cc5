#include "reference/kernels/packed_numbers.h"

#include <optional>
#include <string_view>

#include "reference/noise/noise.h"

namespace onnxkit::reference {

namespace {

std::optional<std::int64_t> integer_of(const ir::Node& node, std::string_view name) {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* value = attribute ? attribute->as<std::int64_t>() : nullptr;
  return value ? std::optional(*value) : std::nullopt;
}

}  // namespace

bool may_round_factor(const ir::Node& node) {
  constexpr std::int64_t level_of_8_bits = 4;
  const bool has_8_bit_experts = integer_of(node, "expert_weight_bits") == 8 && integer_of(node, "block_size") > 0;
  return has_8_bit_experts || integer_of(node, "accuracy_level") == level_of_8_bits;
}

Tensor factor_of_packed(const KernelContext& context, const Tensor& rows, std::int64_t length, std::int64_t block) {
  const Noise* noise = context.noise();
  if (!noise || !noise->arithmetic().steps || !may_round_factor(context.node())) return rows;
  return noise->in_blocks_of_8_bits(context.threads(), rows, length, block);
}

}  // namespace onnxkit::reference
