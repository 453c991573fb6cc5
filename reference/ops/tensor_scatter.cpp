// TensorScatter: the cache, with the update written into its sequence axis from write_indices[batch] on; in mode circular past the end goes on
// at the beginning.
#include "reference/kernels/axes.h"
#include "reference/kernels/scatter.h"

namespace onnxkit::reference {
namespace {

void tensor_scatter(KernelContext& context) {
  const Tensor& cache = context.input(0);
  const Tensor& update = context.input(1);
  const std::int64_t axis = normalize_axis(context.integer("axis", -2), cache.rank());
  const bool is_circular = context.string("mode") == "circular";
  require(axis != 0, "the sequence axis must not be 0, which is the batch");
  require(update.rank() == cache.rank(), "cache and update have different ranks");
  for (std::int64_t i = 0; i < cache.rank(); ++i)
    require(i == axis ? update.dim(i) <= cache.dim(i) : update.dim(i) == cache.dim(i),
            "the update does not match the cache");

  std::vector<std::int64_t> starts(static_cast<std::size_t>(cache.dim(0)), 0);
  const AxisView to = view_axis(cache.dims(), axis), from = view_axis(update.dims(), axis);
  if (const Tensor* given = context.find_input(2)) {
    starts = given->integers();
    require(static_cast<std::int64_t>(starts.size()) == cache.dim(0), "there must be one write index per batch entry");
  }
  for (std::int64_t& start : starts) {
    require(start >= 0 && (is_circular || start <= to.length - from.length), "the update exceeds the end of the cache");
    if (is_circular && to.length > 0) start %= to.length;
  }
  context.set_output(0, scatter(context, cache, update, ScatterReduction::none, [&](std::int64_t i) {
                       const std::int64_t inner = i % to.inner, sequence = i / to.inner % from.length;
                       const std::int64_t outer = i / to.inner / from.length;
                       const auto batch = static_cast<std::size_t>(outer / (to.outer / cache.dim(0)));
                       return (outer * to.length + (starts[batch] + sequence) % to.length) * to.inner + inner;
                     }));
}

}  // namespace

void register_tensor_scatter(KernelRegistry& registry) {
  registry.add("TensorScatter", all_versions(), tensor_scatter, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
