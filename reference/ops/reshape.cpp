// Reshape: the same elements under other sizes. 0 copies the size of the input's axis (unless `allowzero`, from version 14), one -1 stands for
// what is left over. In version 1 the target is an attribute, from 5 on an input.
#include "libonnxkit/base/checked.h"
#include "reference/executor/kernel.h"
#include "reference/kernels/derivatives.h"

namespace onnxkit::reference {
namespace {

/// The target with its zeros and its -1 worked out.
Dims resolve(const Tensor& x, Dims target, bool zero_copies) {
  std::int64_t* open = nullptr;
  std::int64_t rest = 1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == -1) {
      require(!open, "only one size can be inferred");
      open = &target[i];
      continue;
    }
    if (target[i] == 0 && zero_copies) {
      require(i < x.dims().size(), "a 0 refers to an axis that the input does not have");
      target[i] = x.dims()[i];
    }
    const auto product = checked_mul(rest, target[i]);
    require(target[i] >= 0 && product.has_value(), "the target sizes are negative or too large");
    rest = *product;
  }
  if (open) {
    require(rest != 0 && x.size() % rest == 0, "the number of elements is not divisible by the other sizes");
    *open = x.size() / rest;
  }
  return target;
}

void reshape(KernelContext& context) {
  const Tensor& x = context.input(0);
  Dims target;
  if (context.since() < 5) {
    const auto* stated = context.list_as_written<std::int64_t>("shape");
    require(stated, "attribute shape is missing");
    target = *stated;
  } else {
    target = context.input(1).integers();
  }
  context.set_output(0, x.reshaped(resolve(x, std::move(target), context.integer("allowzero") == 0)));
}

}  // namespace

void register_reshape(KernelRegistry& registry) {
  registry.add("Reshape", all_versions(), reshape,
               {.noise = noise::moved, .derivative = derivative::same_elements, .sizes = SizeRole::step});
}

}  // namespace onnxkit::reference
