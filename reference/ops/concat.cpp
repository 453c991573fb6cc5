// Concat: joins along `axis`, which is 1 in version 1 when not given.
#include "reference/kernels/axes.h"
#include "reference/kernels/derivatives.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void join(KernelContext& context) {
  const std::vector<const Tensor*> parts = context.inputs_from();
  require(!parts.empty(), "Concat requires at least one input");
  const std::int64_t axis = normalize_axis(context.integer("axis", 1), parts.front()->rank());
  context.set_output(0, concat(context, parts, axis));
}

}  // namespace

void register_concat(KernelRegistry& registry) {
  registry.add("Concat", all_versions(), join,
               {.noise = noise::moved, .derivative = derivative::concat, .sizes = SizeRole::step});
}

}  // namespace onnxkit::reference
