// Slice: from `starts` to `ends` by `steps` along `axes`; negative positions count from the end, all are clamped. Attributes without steps in
// version 1, inputs from version 10 on. A backward slice starts at element 0 at the lowest, unlike numpy's.
#include <algorithm>

#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

struct Lists {
  std::vector<std::int64_t> starts, ends, axes, steps;
};

Lists lists_of(const KernelContext& context) {
  Lists lists;
  std::optional<std::vector<std::int64_t>> axes, steps;
  if (context.since() < 10) {
    lists.starts = context.integers("starts").value_or(Dims());
    lists.ends = context.integers("ends").value_or(Dims());
    axes = context.integers("axes");
  } else {
    lists.starts = context.input(1).integers();
    lists.ends = context.input(2).integers();
    if (const Tensor* given = context.find_input(3)) axes = given->integers();
    if (const Tensor* given = context.find_input(4)) steps = given->integers();
  }
  lists.axes = axes ? *axes : identity_index(static_cast<std::int64_t>(lists.starts.size()));
  lists.steps = steps.value_or(std::vector<std::int64_t>(lists.starts.size(), 1));
  const bool even = lists.ends.size() == lists.starts.size() && lists.axes.size() == lists.starts.size() &&
                    lists.steps.size() == lists.starts.size();
  require(even, "starts, ends, axes and steps differ in length");
  return lists;
}

struct SliceRange {
  std::int64_t first = 0, count = 0;
};

SliceRange range_of(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  require(step != 0, "the step must not be 0");
  if (size == 0) return {};
  if (start < 0) start += size;
  if (end < 0) end += size;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, size);
    end = std::clamp<std::int64_t>(end, 0, size);
    return {start, start < end ? (end - start - 1) / step + 1 : 0};
  }
  start = std::clamp<std::int64_t>(start, 0, size - 1);
  end = std::clamp<std::int64_t>(end, -1, size - 1);
  const std::int64_t stride = -std::max(step, -size);  // a longer step passes everything, too
  return {start, end < start ? (start - end - 1) / stride + 1 : 0};
}

void slice(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Lists lists = lists_of(context);
  normalize_axes(lists.axes, x.rank());
  Dims dims = x.dims();
  std::vector<std::int64_t> strides = strides_of(x.dims());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < lists.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normalize_axis(lists.axes[i], x.rank()));
    const SliceRange range = range_of(x.dims()[axis], lists.starts[i], lists.ends[i], lists.steps[i]);
    dims[axis] = range.count;
    offset += range.first * strides[axis];
    strides[axis] = range.count > 1 ? strides[axis] * lists.steps[i] : 0;
  }
  context.set_output(0, strided(context, x, std::move(dims), strides, offset));
}

}  // namespace

void register_slice(KernelRegistry& registry) {
  registry.add("Slice", all_versions(), slice, {.noise = noise::moved, .sizes = SizeRole::step});
}

}  // namespace onnxkit::reference
