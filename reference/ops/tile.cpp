// Tile: the tensor repeated. Version 1 repeats one axis, and its numbers have the type of the data; version 6 on has a count for each axis.
#include "libonnxkit/base/checked.h"
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"
#include "reference/numerics/whole_numbers.h"

namespace onnxkit::reference {
namespace {

std::vector<std::int64_t> repeats_of(const KernelContext& context) {
  if (context.since() >= 6) return context.input(1).integers();
  const std::int64_t rank = context.input(0).rank();
  std::vector<std::int64_t> repeats(static_cast<std::size_t>(rank), 1);
  repeats.at(static_cast<std::size_t>(normalize_axis(whole_number(context.input(2)), rank))) =
      whole_number(context.input(1));
  return repeats;
}

void tile(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::vector<std::int64_t> repeats = repeats_of(context);
  require(static_cast<std::int64_t>(repeats.size()) == x.rank(), "there must be one count per axis");
  Dims dims;
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    const auto size = checked_mul(x.dims()[axis], repeats[axis]);
    require(repeats[axis] >= 0 && size.has_value(), "a count is negative or too large");
    dims.push_back(*size);
  }
  context.set_output(
      0, select(context, x, std::move(dims), [&](std::int64_t axis, std::int64_t i) { return i % x.dim(axis); }));
}

}  // namespace

void register_tile(KernelRegistry& registry) { registry.add("Tile", all_versions(), tile, {.noise = noise::moved}); }

}  // namespace onnxkit::reference
