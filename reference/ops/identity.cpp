// Identity: any value as it is.
#include "reference/executor/kernel.h"
#include "reference/kernels/derivatives.h"

namespace onnxkit::reference {
namespace {

void identity(KernelContext& context) { context.set_output(0, context.value(0)); }

}  // namespace

void register_identity(KernelRegistry& registry) {
  registry.add("Identity", all_versions(), identity,
               {.noise = noise::moved, .derivative = derivative::same_elements, .sizes = SizeRole::step});
}

}  // namespace onnxkit::reference
