// GatherND: the last axis of the indices holds coordinates into the leading axes of the data. From version 12 on the first `batch_dims` axes
// are shared by data and indices.
#include <algorithm>

#include "reference/kernels/index_tuples.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void gather_nd(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& indices = context.input(1);
  const std::int64_t batch_axes = context.integer("batch_dims");
  const std::int64_t length = tuple_length(indices);
  require(0 <= batch_axes && batch_axes < indices.rank(), "batch_dims exceeds the rank of the indices");
  require(batch_axes <= x.rank() && length <= x.rank() - batch_axes,
          "the index tuples are longer than the rank of the data");
  require(std::equal(x.dims().begin(), x.dims().begin() + batch_axes, indices.dims().begin()),
          "data and indices differ in their batch axes");

  const std::span<const std::int64_t> sizes = x.dims();
  const auto indexed = static_cast<std::size_t>(batch_axes), inner = static_cast<std::size_t>(batch_axes + length);
  const std::vector<std::int64_t> positions = tuple_positions(indices, sizes.subspan(indexed, inner - indexed));
  const std::int64_t batches = element_count(sizes.first(indexed));
  const std::int64_t rows = element_count(sizes.subspan(indexed, inner - indexed));
  const std::int64_t width = element_count(sizes.subspan(inner));
  const auto count = static_cast<std::int64_t>(positions.size());

  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), x.dims().begin() + static_cast<std::ptrdiff_t>(inner), x.dims().end());
  const Tensor y =
      select(context, x.reshaped({batches * rows, width}), {count, width}, [&](std::int64_t axis, std::int64_t i) {
        return axis == 1 ? i : i / (count / batches) * rows + positions[static_cast<std::size_t>(i)];
      });
  context.set_output(0, y.reshaped(std::move(dims)));
}

}  // namespace

void register_gather_nd(KernelRegistry& registry) {
  registry.add("GatherND", all_versions(), gather_nd, {.noise = noise::moved});
  registry.add("com.microsoft", "GatherND", all_versions(), gather_nd, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
