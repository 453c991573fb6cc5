// Expand: broadcast with a shape, in both directions.
#include "reference/kernels/broadcast.h"
#include "reference/kernels/derivatives.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void expand_to(KernelContext& context) {
  const Tensor& x = context.input(0);
  context.set_output(0, expand(context, x, broadcast_dims(x.dims(), context.input(1).integers())));
}

}  // namespace

void register_expand(KernelRegistry& registry) {
  registry.add("Expand", all_versions(), expand_to, {.noise = noise::moved, .derivative = derivative::expand});
}

}  // namespace onnxkit::reference
