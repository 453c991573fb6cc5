// Scatter, ScatterElements: each update is written to the position of its own line along `axis` that its index names. Reductions add and mul from
// version 16 on, min and max from 18 on.
#include "reference/kernels/axes.h"
#include "reference/kernels/scatter.h"

namespace onnxkit::reference {
namespace {

void scatter_elements(KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  const Tensor& updates = context.input(2);
  const std::int64_t axis = normalize_axis(context.integer("axis"), data.rank());
  require(indices.dims() == updates.dims(), "indices and updates differ in shape");
  require(indices.rank() == data.rank(), "data and indices have different ranks");
  for (std::int64_t i = 0; i < data.rank(); ++i)
    require(i == axis || indices.dim(i) <= data.dim(i), "indices are larger than the data");

  std::vector<std::int64_t> strides = strides_of(data.dims());
  const std::int64_t step = strides[static_cast<std::size_t>(axis)];
  strides[static_cast<std::size_t>(axis)] = 0;
  const std::vector<std::int64_t> index = indices.integers();
  context.set_output(
      0, scatter(context, data, updates, scatter_reduction(context.string("reduction")), [&](std::int64_t i) {
        return offset_at(i, indices.dims(), strides) +
               normalize_index(index[static_cast<std::size_t>(i)], data.dim(axis)) * step;
      }));
}

}  // namespace

void register_scatter_elements(KernelRegistry& registry) {
  registry.add("Scatter", all_versions(), scatter_elements, {.noise = noise::moved});
  registry.add("ScatterElements", all_versions(), scatter_elements, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
