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

}  // namespace detail
}  // namespace onnxkit::reference
