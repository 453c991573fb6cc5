// ConstantOfShape: a tensor of the sizes that the input holds, filled with the one element of `value` (float 0 without it).
#include <algorithm>

#include "reference/executor/kernel.h"

namespace onnxkit::reference {
namespace {

void constant_of_shape(KernelContext& context) {
  const Tensor& sizes = context.input(0);
  require(sizes.rank() == 1, "the shape is not a vector");
  const ir::Tensor* given = context.tensor("value");
  const Tensor value = given ? context.constant(*given) : context.scalar(ElementType::float32, 0);
  require(value.size() == 1, "the value must be one element");
  Tensor filled = context.make_unset(value.type(), sizes.integers());
  dispatch_all(value.domain(), [&]<class T>(std::type_identity<T>) {
    const auto all = filled.write<T>();
    const T element = value.as<T>()[0];
    context.for_range(filled.size(), 1 << 16, [&](std::int64_t first, std::int64_t last) {
      std::fill(all.begin() + first, all.begin() + last, element);
    });
  });
  filled.mark_rounded(value.is_rounded());
  context.set_output(0, filled);
}

}  // namespace

void register_constant_of_shape(KernelRegistry& registry) {
  registry.add("ConstantOfShape", all_versions(), constant_of_shape, {.noise = noise::exact});
}

}  // namespace onnxkit::reference
