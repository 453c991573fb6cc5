// Gather: slices along `axis`, chosen by a tensor of indices. Negative indices from version 11 on.
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void gather(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& indices = context.input(1);
  const std::int64_t axis = normalize_axis(context.integer("axis"), x.rank());
  std::vector<std::int64_t> index = indices.integers();
  for (std::int64_t& i : index) i = normalize_index(i, x.dim(axis));
  const AxisView view = view_axis(x.dims(), axis);
  Dims dims(x.dims().begin(), x.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), x.dims().begin() + axis + 1, x.dims().end());
  const Tensor y = select(
      context, x.reshaped({view.outer, view.length, view.inner}), {view.outer, indices.size(), view.inner},
      [&](std::int64_t of_axis, std::int64_t i) { return of_axis == 1 ? index[static_cast<std::size_t>(i)] : i; });
  context.set_output(0, y.reshaped(std::move(dims)));
}

}  // namespace

void register_gather(KernelRegistry& registry) {
  registry.add("Gather", all_versions(), gather, {.noise = noise::moved, .sizes = SizeRole::step});
}

}  // namespace onnxkit::reference
