// GatherElements: each index picks an element of its own line along `axis`.
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void gather_elements(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t axis = normalize_axis(context.integer("axis"), x.rank());
  context.set_output(0, take_along(context, x, context.input(1), axis));
}

}  // namespace

void register_gather_elements(KernelRegistry& registry) {
  registry.add("GatherElements", all_versions(), gather_elements, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
