// Flatten: a matrix, the axes before `axis` as rows, the others as columns. Negative axes from version 11 on.
#include "reference/kernels/axes.h"
#include "reference/kernels/derivatives.h"

namespace onnxkit::reference {
namespace {

void flatten(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t stated = context.integer("axis", 1);
  const std::int64_t axis = stated == x.rank() ? stated : normalize_axis(stated, x.rank());
  const AxisView view = view_axis(x.dims(), axis);
  context.set_output(0, x.reshaped({view.outer, view.length * view.inner}));
}

}  // namespace

void register_flatten(KernelRegistry& registry) {
  registry.add("Flatten", all_versions(), flatten, {.noise = noise::moved, .derivative = derivative::same_elements});
}

}  // namespace onnxkit::reference
