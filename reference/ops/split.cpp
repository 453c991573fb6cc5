// Split: one output for each piece along `axis`. The sizes are an attribute until version 12 (in version 1 also an input), an input from 13
// on; from 18 on `num_outputs` asks for equal pieces of which the last may be smaller. Without sizes all pieces are equal.
#include "libonnxkit/base/checked.h"
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"
#include "reference/numerics/whole_numbers.h"

namespace onnxkit::reference {
namespace {

std::vector<std::int64_t> piece_sizes_split(const KernelContext& context, std::int64_t total) {
  if (const Tensor* sizes = context.find_input(1)) return whole_numbers(*sizes);
  if (const auto sizes = context.integers("split")) return *sizes;
  const auto count = static_cast<std::int64_t>(context.output_count());
  if (const auto stated = context.find_integer("num_outputs")) {
    require(*stated == count, "num_outputs differs from the number of outputs");
    const std::int64_t piece = total / count + (total % count != 0 ? 1 : 0);
    require(piece * (count - 1) <= total, "no elements are left for the last piece");
    std::vector<std::int64_t> sizes(context.output_count(), piece);
    sizes.back() = total - piece * (count - 1);
    return sizes;
  }
  require(total % count == 0, "the axis is not divisible into equal pieces");
  return std::vector<std::int64_t>(context.output_count(), total / count);
}

void split(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(context.output_count() > 0, "the node has no output");
  const std::int64_t axis = normalize_axis(context.integer("axis"), x.rank());
  const std::vector<std::int64_t> sizes = piece_sizes_split(context, x.dim(axis));
  require(sizes.size() == context.output_count(), "the number of sizes differs from the number of outputs");
  std::int64_t first = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto last = checked_add(first, sizes[i]);
    require(last.has_value(), "a piece is outside the axis");
    context.set_output(i, slice_axis(context, x, axis, first, *last));
    first = *last;
  }
  require(first == x.dim(axis), "the sizes of the pieces do not add up to the size of the axis");
}

}  // namespace

void register_split(KernelRegistry& registry) {
  registry.add("Split", all_versions(), split, {.noise = noise::moved, .sizes = SizeRole::step});
}

}  // namespace onnxkit::reference
