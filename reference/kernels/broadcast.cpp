#include "reference/kernels/broadcast.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace onnxkit::reference {

Dims broadcast_dims(std::span<const Dims> shapes) {
  Dims out;
  for (const Dims& shape : shapes) {
    if (shape.size() > out.size()) out.insert(out.begin(), shape.size() - out.size(), 1);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& size = out[out.size() - shape.size() + i];
      require(size == shape[i] || size == 1 || shape[i] == 1,
              [&] { return fmt::format("shapes {} do not broadcast", fmt::join(shapes, " and ")); });
      if (size == 1) size = shape[i];
    }
  }
  return out;
}

Dims broadcast_dims(const Dims& a, const Dims& b) {
  const std::array<Dims, 2> both = {a, b};
  return broadcast_dims(both);
}

std::vector<std::int64_t> broadcast_strides(const Dims& from, const Dims& to) {
  std::vector<std::int64_t> strides(to.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t axis = from.size() - 1 - i;
    if (from[axis] != 1) strides[to.size() - 1 - i] = stride;
    stride *= from[axis];
  }
  return strides;
}

namespace detail {
namespace {

struct BroadcastAxis {
  std::int64_t length;
  RowOffsets steps;
};

/// The axes of `dims` with each operand's steps, neighbours merged where possible; never empty.

std::vector<BroadcastAxis> merged_axes(const Dims& dims, std::span<const Dims* const> operands) {
  std::vector<std::vector<std::int64_t>> strides;
  for (const Dims* operand : operands) strides.push_back(broadcast_strides(*operand, dims));
  std::vector<BroadcastAxis> axes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    BroadcastAxis axis{dims[i], {}};
    for (std::size_t k = 0; k < operands.size(); ++k) axis.steps[k] = strides[k][i];
    if (axis.length == 1) continue;
    bool merges = !axes.empty();
    for (std::size_t k = 0; merges && k < operands.size(); ++k)
      merges = axes.back().steps[k] == axis.steps[k] * axis.length;
    if (merges) {
      axes.back() = {axes.back().length * axis.length, axis.steps};
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) axes.push_back({1, {}});
  return axes;
}

}  // namespace

void for_each_row(const KernelContext& context, const Dims& dims, std::span<const Dims* const> operands,
                  const RowLoop& row) {
  const std::vector<BroadcastAxis> axes = merged_axes(dims, operands);
  const BroadcastAxis inner = axes.back();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) rows *= axes[i].length;
  if (inner.length == 0 || rows == 0) return;
  const std::size_t count = operands.size();
  constexpr std::int64_t grain = 1 << 14;
  if (rows == 1) {
    context.for_range(inner.length, grain, [&](std::int64_t first, std::int64_t last) {
      RowOffsets offsets{};
      for (std::size_t k = 0; k < count; ++k) offsets[k] = first * inner.steps[k];
      row(first, offsets, inner.steps, last - first);
    });
    return;
  }
  context.for_range(rows, std::max<std::int64_t>(1, grain / inner.length), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      RowOffsets offsets{};
      std::int64_t rest = r;
      for (std::size_t axis = axes.size() - 1; axis-- > 0;) {
        const std::int64_t index = rest % axes[axis].length;
        rest /= axes[axis].length;
        for (std::size_t k = 0; k < count; ++k) offsets[k] += index * axes[axis].steps[k];
      }
      row(r * inner.length, offsets, inner.steps, inner.length);
    }
  });
}

}  // namespace detail
}  // namespace onnxkit::reference
