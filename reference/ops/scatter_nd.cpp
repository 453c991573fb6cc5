// ScatterND: the last axis of the indices holds coordinates into the leading axes of the data; each tuple takes a slice of the updates.
// Reductions add and mul from version 16 on, min and max from 18 on.
#include <algorithm>

#include "reference/kernels/index_tuples.h"
#include "reference/kernels/scatter.h"

namespace onnxkit::reference {
namespace {

void scatter_nd(KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  const Tensor& updates = context.input(2);
  const std::int64_t length = tuple_length(indices);
  require(length <= data.rank(), "the index tuples are longer than the rank of the data");
  const std::span<const std::int64_t> sizes = data.dims();
  Dims expected(indices.dims().begin(), indices.dims().end() - 1);
  expected.insert(expected.end(), data.dims().begin() + length, data.dims().end());
  require(updates.dims() == expected, "the shape of the updates does not match data and indices");

  const std::vector<std::int64_t> positions = tuple_positions(indices, sizes.first(static_cast<std::size_t>(length)));
  const std::int64_t width = element_count(sizes.subspan(static_cast<std::size_t>(length)));
  context.set_output(
      0, scatter(context, data, updates, scatter_reduction(context.string("reduction")),
                 [&](std::int64_t i) { return positions[static_cast<std::size_t>(i / width)] * width + i % width; }));
}

}  // namespace

void register_scatter_nd(KernelRegistry& registry) {
  registry.add("ScatterND", all_versions(), scatter_nd, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
