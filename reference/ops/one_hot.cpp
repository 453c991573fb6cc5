// OneHot: the indices with a further axis of size `depth`, on where the position is the index. Outside the axis all is off; from version 11 on
// negative indices count from the end.
#include <algorithm>

#include "reference/kernels/axes.h"
#include "reference/numerics/whole_numbers.h"

namespace onnxkit::reference {
namespace {

void one_hot(KernelContext& context) {
  const Tensor& indices = context.input(0);
  const Tensor& values = context.input(2);
  require(values.size() == 2, "values must be the pair [off, on]");
  const std::int64_t depth = whole_number(context.input(1));
  require(depth >= 0, "the depth is negative");
  const std::int64_t axis = normalize_axis(context.integer("axis", -1), indices.rank() + 1);
  Dims dims = indices.dims();
  dims.insert(dims.begin() + axis, depth);
  Tensor y = context.make(values.type(), std::move(dims));
  const AxisView view = view_axis(y.dims(), axis);
  const std::vector<std::int64_t> index = whole_numbers(indices);
  dispatch_all(y.domain(), [&]<class T>(std::type_identity<T>) {
    const T off = values.as<T>()[0], on = values.as<T>()[1];
    const std::span<T> to = y.write<T>();
    context.for_range(y.size(), 1 << 16, [&](std::int64_t first, std::int64_t last) {
      std::fill(to.begin() + first, to.begin() + last, off);
    });
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(index.size()); ++i) {
      std::int64_t hot = index[static_cast<std::size_t>(i)];
      if (hot < 0 && context.since() >= 11) hot += depth;
      if (hot < 0 || hot >= depth) continue;
      to[static_cast<std::size_t>((i / view.inner * depth + hot) * view.inner + i % view.inner)] = on;
    }
  });
  context.set_output(0, std::move(y));
}

}  // namespace

void register_one_hot(KernelRegistry& registry) {
  registry.add("OneHot", all_versions(), one_hot, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
