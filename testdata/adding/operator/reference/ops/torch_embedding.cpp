// com.microsoft TorchEmbedding: the rows of a table that indices name. The padding index matters in training only.
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void torch_embedding(KernelContext& context) {
  const Tensor& table = context.input(0);
  const Tensor& indices = context.input(1);
  require(table.rank() == 2, "the table must have two axes");
  std::vector<std::int64_t> rows = indices.integers();
  for (std::int64_t& row : rows) row = normalize_index(row, table.dim(0));
  Dims dims = indices.dims();
  dims.push_back(table.dim(1));
  const Tensor y = select(context, table, {indices.size(), table.dim(1)}, [&](std::int64_t axis, std::int64_t i) {
    return axis == 0 ? rows[static_cast<std::size_t>(i)] : i;
  });
  context.set_output(0, y.reshaped(std::move(dims)));
}

}  // namespace

void register_torch_embedding(KernelRegistry& registry) {
  registry.add("com.microsoft", "TorchEmbedding", all_versions(), torch_embedding);
}

}  // namespace onnxkit::reference
