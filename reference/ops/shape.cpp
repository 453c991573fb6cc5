// Shape, Size: the sizes of a tensor and their product. From version 15 Shape may give the axes from `start` to `end` only; both are clamped.
#include <algorithm>

#include "reference/executor/kernel.h"

namespace onnxkit::reference {
namespace {

void shape(KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto clamped = [&x](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + x.rank() : axis, 0, x.rank());
  };
  const std::int64_t start = clamped(context.integer("start", 0));
  const std::int64_t end = std::max(start, clamped(context.integer("end", x.rank())));
  Tensor sizes = context.make(ElementType::int64, {end - start});
  std::copy(x.dims().begin() + start, x.dims().begin() + end, sizes.write<std::int64_t>().begin());
  context.set_output(0, sizes);
}

void size(KernelContext& context) {
  Tensor count = context.make(ElementType::int64, {});
  count.write<std::int64_t>()[0] = context.input(0).size();
  context.set_output(0, count);
}

}  // namespace

void register_shape(KernelRegistry& registry) {
  registry.add("Shape", all_versions(), shape, {.sizes = SizeRole::source});
  registry.add("Size", all_versions(), size, {.sizes = SizeRole::source});
}

}  // namespace onnxkit::reference
