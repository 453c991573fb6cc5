#include "libonnxkit/cuda/channels_last_weights.h"

#include <cstring>
#include <map>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::cuda {
namespace {

using plan::View;

/// Whether channels lie side by side already, as they do where there is one, or one tap.
bool is_in_order(const View& view) {
  const plan::Dims strides = channels_last_strides_of(view.dims);
  for (std::size_t axis = 0; axis < view.rank(); ++axis)
    if (view.dims[axis] != 1 && view.strides[axis] != strides[axis]) return false;
  return true;
}

/// In the order in which they lie then, with zeros behind the channels of each tap up to `channels`.
std::vector<std::byte> reordered(const Tensor& tensor, const View& view, std::int64_t channels) {
  const auto width = static_cast<std::size_t>(storage_bits(view.type)) / 8;
  const std::size_t added = static_cast<std::size_t>(channels - view.dims[1]) * width;
  std::vector<std::byte> result(static_cast<std::size_t>(view.dims[0] * view.dims[2] * view.dims[3] * channels) *
                                width);
  const std::byte* from = tensor.bytes().data();
  std::byte* to = result.data();
  const plan::Dims& d = view.dims;
  for (std::int64_t filter = 0; filter < d[0]; ++filter) {
    for (std::int64_t row = 0; row < d[2]; ++row) {
      for (std::int64_t column = 0; column < d[3]; ++column) {
        for (std::int64_t channel = 0; channel < d[1]; ++channel, to += width) {
          const std::int64_t at = view.offset + filter * view.strides[0] + channel * view.strides[1] +
                                  row * view.strides[2] + column * view.strides[3];
          std::memcpy(to, from + static_cast<std::size_t>(at) * width, width);
        }
        to += added;
      }
    }
  }
  return result;
}

}  // namespace

plan::Dims channels_last_strides_of(const plan::Dims& dims) {
  return {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
}

Result<View> with_channels_last(plan::Plan& plan, const View& weights, std::int64_t channels) {
  View changed = weights;
  changed.dims[1] = channels;
  changed.strides = channels_last_strides_of(changed.dims);
  changed.offset = 0;
  const plan::Dims in_memory = {changed.dims[0], changed.dims[2], changed.dims[3], channels};
  auto tensor = Tensor::from_bytes(weights.type, in_memory,
                                   reordered(plan.constants[plan.buffers[weights.buffer].index], weights, channels));
  if (!tensor) return tensor.error();
  changed.buffer = static_cast<std::uint32_t>(plan.buffers.size());
  plan.buffers.push_back({.home = plan::Home::constant,
                          .type = weights.type,
                          .bytes = tensor->bytes().size(),
                          .index = plan.constants.size()});
  plan.constants.push_back(*std::move(tensor));
  return changed;
}

Result<void> channels_last_weights(plan::Plan& plan) {
  std::map<std::tuple<std::uint32_t, std::int64_t, plan::Dims, plan::Dims>, View> done;
  for (plan::Step& step : plan.steps) {
    if (step.kind != plan::convolution_step) continue;
    View& view = step.inputs[1];
    const plan::Buffer buffer = plan.buffers[view.buffer];
    if (buffer.home != plan::Home::constant || is_in_order(view)) continue;
    const auto [at, is_new] = done.try_emplace({view.buffer, view.offset, view.dims, view.strides}, view);
    if (is_new) {
      auto ordered = with_channels_last(plan, view, view.dims[1]);
      if (!ordered) return ordered.error();
      at->second = *std::move(ordered);
    }
    view = at->second;
  }
  return {};
}

}  // namespace onnxkit::cuda
