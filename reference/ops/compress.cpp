// Compress: the slices along `axis`, or the elements of the flattened tensor, for which the condition holds. The condition may be shorter.
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void compress(KernelContext& context) {
  const Tensor& input = context.input(0);
  const auto stated = context.find_integer("axis");
  const Tensor x = stated ? input : input.reshaped({input.size()});
  const std::int64_t axis = stated ? normalize_axis(*stated, x.rank()) : 0;
  const std::span<const bool> condition = context.input(1).as<bool>();
  require(static_cast<std::int64_t>(condition.size()) <= x.dim(axis), "the condition is longer than the axis");
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i]) chosen.push_back(static_cast<std::int64_t>(i));
  }
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(chosen.size());
  context.set_output(0, select(context, x, std::move(dims), [&](std::int64_t of_axis, std::int64_t i) {
                       return of_axis == axis ? chosen[static_cast<std::size_t>(i)] : i;
                     }));
}

}  // namespace

void register_compress(KernelRegistry& registry) {
  registry.add("Compress", all_versions(), compress, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
