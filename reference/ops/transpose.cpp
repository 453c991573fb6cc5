// Transpose: axes in another order, by default reversed.
#include <algorithm>

#include "reference/kernels/derivatives.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void transpose(KernelContext& context) {
  const Tensor& x = context.input(0);
  std::vector<std::int64_t> permutation = identity_index(x.rank());
  std::reverse(permutation.begin(), permutation.end());
  context.set_output(0, permute(context, x, context.integers("perm").value_or(permutation)));
}

}  // namespace

void register_transpose(KernelRegistry& registry) {
  registry.add("Transpose", all_versions(), transpose, {.noise = noise::moved, .derivative = derivative::transpose});
}

}  // namespace onnxkit::reference
