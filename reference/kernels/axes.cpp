#include "reference/kernels/axes.h"

#include <algorithm>

#include <fmt/core.h>

namespace onnxkit::reference {

std::int64_t normalize_axis(std::int64_t axis, std::int64_t rank) {
  require(-rank <= axis && axis < rank,
          [&] { return fmt::format("axis {} is outside a tensor of rank {}", axis, rank); });
  return axis < 0 ? axis + rank : axis;
}

std::vector<std::int64_t> normalize_axes(std::span<const std::int64_t> axes, std::int64_t rank) {
  std::vector<std::int64_t> out;
  for (const std::int64_t axis : axes) out.push_back(normalize_axis(axis, rank));
  std::sort(out.begin(), out.end());
  require(std::adjacent_find(out.begin(), out.end()) == out.end(), "an axis is listed twice");
  return out;
}

std::int64_t normalize_index(std::int64_t index, std::int64_t size) {
  require(-size <= index && index < size,
          [&] { return fmt::format("index {} is outside an axis of size {}", index, size); });
  return index < 0 ? index + size : index;
}

std::vector<std::int64_t> reduced_axes(const spec::NodeAttributes& attributes, const Tensor* given, std::int64_t rank) {
  std::vector<std::int64_t> axes;
  if (given)
    axes = given->integers();
  else if (const auto attribute = attributes.integers("axes"))
    axes = *attribute;
  if (axes.empty() && attributes.integer("noop_with_empty_axes") == 0) {
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  return normalize_axes(axes, rank);
}

std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return strides;
}

AxisView view_axis(const Dims& dims, std::int64_t axis) {
  const std::span<const std::int64_t> all(dims);
  const auto at = static_cast<std::size_t>(axis);
  if (at >= all.size()) return {.outer = element_count(all)};
  return {.outer = element_count(all.first(at)), .length = all[at], .inner = element_count(all.subspan(at + 1))};
}

namespace {

/// Row-major offsets of all index tuples over some axes.
std::vector<std::int64_t> offsets_over(const Dims& dims, std::span<const std::int64_t> strides,
                                       const std::vector<bool>& chosen) {
  // Before a zero the product of the others may be any number.
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (chosen[axis] && dims[axis] == 0) return {};
  }
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (!chosen[axis]) continue;
    std::vector<std::int64_t> longer;
    longer.reserve(offsets.size() * static_cast<std::size_t>(dims[axis]));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < dims[axis]; ++i) longer.push_back(offset + i * strides[axis]);
    }
    offsets = std::move(longer);
  }
  return offsets;
}

}  // namespace

Dims reduced_dims(const Dims& dims, std::span<const std::int64_t> axes, bool keep_dims) {
  Dims reduced = dims;
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = -1;
  if (keep_dims)
    std::replace(reduced.begin(), reduced.end(), std::int64_t{-1}, std::int64_t{1});
  else
    std::erase(reduced, -1);
  return reduced;
}

Reduction plan_reduction(const Dims& dims, std::span<const std::int64_t> axes) {
  Reduction plan;
  std::vector<bool> reduced(dims.size(), false);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = true;
  const std::vector<std::int64_t> strides = strides_of(dims);
  plan.offsets = offsets_over(dims, strides, reduced);
  reduced.flip();
  plan.starts = offsets_over(dims, strides, reduced);
  return plan;
}

}  // namespace onnxkit::reference
