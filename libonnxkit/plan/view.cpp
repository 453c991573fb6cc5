#include "libonnxkit/plan/view.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {

std::int64_t element_count(std::span<const std::int64_t> dims) {
  const auto count = checked_element_count(dims);
  if (!count) throw Misfit("a tensor of too many elements");
  return *count;
}

Dims row_major_strides(std::span<const std::int64_t> dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(dims[axis], 1);
  }
  return strides;
}

bool View::is_contiguous() const {
  std::int64_t stride = 1;
  for (std::size_t axis = rank(); axis-- > 0;) {
    if (dims[axis] == 0) return true;
    if (dims[axis] == 1) continue;
    if (strides[axis] != stride) return false;
    stride *= dims[axis];
  }
  return true;
}

namespace {

/// Axes from the largest stride to the smallest; equal ones as they come.
std::vector<std::size_t> axes_by_stride(const View& view) {
  std::vector<std::size_t> axes(view.rank());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_sort(axes.begin(), axes.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(view.strides[a]) > std::abs(view.strides[b]); });
  return axes;
}

}  // namespace

bool View::is_dense() const {
  std::int64_t stride = 1;
  const auto axes = axes_by_stride(*this);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (dims[*axis] == 0) return true;
    if (dims[*axis] == 1) continue;
    if (strides[*axis] != stride) return false;
    stride *= dims[*axis];
  }
  return true;
}

bool View::has_channels_last() const {
  if (rank() != 4) return false;
  const std::int64_t pixel = dims[3] > 1 ? strides[3] : dims[2] > 1 ? strides[2] : dims[0] > 1 ? strides[0] : dims[1];
  return (dims[1] == 1 || strides[1] == 1) && pixel >= dims[1] && (dims[3] == 1 || strides[3] == pixel) &&
         (dims[2] == 1 || strides[2] == pixel * dims[3]) && (dims[0] == 1 || strides[0] == pixel * dims[3] * dims[2]);
}

bool View::has_channels_side_by_side() const {
  if (rank() != 4 || (dims[1] > 1 && strides[1] != 1)) return false;
  const auto is_apart = [&](std::size_t axis, std::int64_t least) { return dims[axis] == 1 || strides[axis] >= least; };
  return is_apart(3, dims[1]) && is_apart(2, dims[1]) && is_apart(0, dims[1]);
}

View permuted(const View& view, std::span<const std::int64_t> order) {
  View result = view;
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    result.dims[axis] = view.dims[static_cast<std::size_t>(order[axis])];
    result.strides[axis] = view.strides[static_cast<std::size_t>(order[axis])];
  }
  return result;
}

Dims inverse_order(std::span<const std::int64_t> order) {
  Dims back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return back;
}

Dims order_in_memory(const View& view) {
  const auto axes = axes_by_stride(view);
  return {axes.begin(), axes.end()};
}

Dims order_with_last(std::size_t rank, std::size_t axis) {
  Dims order;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != axis) order.push_back(static_cast<std::int64_t>(i));
  }
  order.push_back(static_cast<std::int64_t>(axis));
  return order;
}

View sliced(const View& view, std::size_t axis, std::int64_t start, std::int64_t step, std::int64_t count) {
  View result = view;
  if (axis >= view.rank()) throw Misfit("a slice along an axis that is missing");
  if (count > 0) {
    const std::int64_t size = view.dims[axis], last = start + (count - 1) * step;
    if (start < 0 || start >= size || last < 0 || last >= size) throw Misfit("a slice beyond its axis");
    result.offset += start * view.strides[axis];
  }
  result.dims[axis] = count;
  if (count > 1) result.strides[axis] = view.strides[axis] * step;  // else the step may be beyond all memory
  return result;
}

View without_axis(View view, std::size_t axis) {
  view.dims.erase(view.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  return view;
}

View picked(const View& view, std::size_t axis, std::int64_t index) {
  return without_axis(sliced(view, axis, index, 1, 1), axis);
}

std::optional<View> try_reshaped(const View& view, Dims dims) {
  if (element_count(dims) != view.size()) return std::nullopt;
  View result = view;
  result.strides.assign(dims.size(), 0);
  if (view.is_contiguous()) {
    result.strides = row_major_strides(dims);
    result.dims = std::move(dims);
    return result;
  }
  // Groups of axes of equal size, from the last; within a group the old axes must be one run of elements.
  std::size_t from = view.rank(), to = dims.size();
  while (from > 0 || to > 0) {
    std::int64_t old_size = 1, new_size = 1, stride = 0, expected = 0;
    const std::size_t group_end = to;
    bool is_first = true;
    const auto take_old = [&] {
      --from;
      if (view.dims[from] != 1) {
        if (is_first)
          stride = view.strides[from], is_first = false;
        else if (view.strides[from] != expected)
          return false;
        expected = view.strides[from] * view.dims[from];
      }
      old_size *= view.dims[from];
      return true;
    };
    if (from > 0 && !take_old()) return std::nullopt;
    if (to > 0) new_size *= dims[--to];
    while (old_size != new_size) {
      if (old_size < new_size) {
        if (from == 0 || !take_old()) return std::nullopt;
      } else {
        if (to == 0) return std::nullopt;
        new_size *= dims[--to];
      }
    }
    std::int64_t step = stride;
    for (std::size_t axis = group_end; axis-- > to;) {
      result.strides[axis] = step;
      step *= dims[axis];
    }
  }
  result.dims = std::move(dims);
  return result;
}

View reshaped(const View& view, Dims dims) {
  auto result = try_reshaped(view, std::move(dims));
  if (!result) throw Misfit("the sizes of a view do not fit");
  return *std::move(result);
}

View broadcast_to(const View& view, std::span<const std::int64_t> dims) {
  if (view.rank() > dims.size()) throw Misfit("a view has more axes than it is broadcast to");
  View result = view;
  result.dims.assign(dims.begin(), dims.end());
  result.strides.assign(dims.size(), 0);
  const std::size_t added = dims.size() - view.rank();
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    const std::int64_t size = dims[added + axis];
    if (view.dims[axis] != size && view.dims[axis] != 1) throw Misfit("the sizes of a view cannot be broadcast");
    if (view.dims[axis] == size) result.strides[added + axis] = view.strides[axis];
  }
  return result;
}

Dims dense_strides_like(std::span<const std::int64_t> dims, const View& like) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  const auto axes = axes_by_stride(like);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    strides[*axis] = stride;
    stride *= std::max<std::int64_t>(dims[*axis], 1);
  }
  return strides;
}

Loops joined_loops(std::span<const View* const> views) {
  Loops loops;
  loops.strides.resize(views.size());
  const View& first = *views.front();
  for (const std::size_t axis : axes_by_stride(first)) {
    const std::int64_t size = first.dims[axis];
    if (size == 1) continue;
    bool joins = !loops.sizes.empty();
    for (std::size_t v = 0; joins && v < views.size(); ++v)
      joins = loops.strides[v].back() == views[v]->strides[axis] * size;
    if (joins) {
      loops.sizes.back() *= size;
      for (std::size_t v = 0; v < views.size(); ++v) loops.strides[v].back() = views[v]->strides[axis];
    } else {
      loops.sizes.push_back(size);
      for (std::size_t v = 0; v < views.size(); ++v) loops.strides[v].push_back(views[v]->strides[axis]);
    }
  }
  return loops;
}

View without_repetition(View view) {
  for (std::size_t axis = 0; axis < view.rank(); ++axis)
    if (view.strides[axis] == 0) view.dims[axis] = 1;
  return view;
}

std::optional<std::int64_t> row_stride_of(const View& view) {
  if (view.dims.back() != 1 && view.strides.back() != 1) return std::nullopt;
  std::optional<std::int64_t> stride;
  std::int64_t rows = 1;
  for (std::size_t axis = view.rank() - 1; axis-- > 0;) {
    if (view.dims[axis] == 1) continue;
    if (!stride) stride = view.strides[axis];
    if (*stride <= 0 || view.strides[axis] != *stride * rows) return std::nullopt;
    rows *= view.dims[axis];
  }
  return stride.value_or(view.dims.back());
}

std::string text_of(const View& view) {
  const std::string sizes = fmt::format("{}", fmt::join(view.dims, ", "));
  const std::string strides = view.is_contiguous() ? "" : fmt::format("; {}", fmt::join(view.strides, ", "));
  return fmt::format("{}[{}{}]", name_of(view.type), sizes, strides);
}

}  // namespace onnxkit::plan
