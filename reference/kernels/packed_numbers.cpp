#include "reference/kernels/packed_numbers.h"

#include "reference/noise/noise.h"

namespace onnxkit::reference {

bool may_round_factor(const ir::Node& node) {
  constexpr std::int64_t level_of_8_bits = 4;
  const ir::Attribute* level = node.find_attribute("accuracy_level");
  const auto* value = level ? level->as<std::int64_t>() : nullptr;
  return value && *value == level_of_8_bits;
}

Tensor factor_of_packed(const KernelContext& context, const Tensor& rows, std::int64_t length, std::int64_t block) {
  const Noise* noise = context.noise();
  if (!noise || !noise->arithmetic().steps || !may_round_factor(context.node())) return rows;
  return noise->in_blocks_of_8_bits(context.threads(), rows, length, block);
}

}  // namespace onnxkit::reference
