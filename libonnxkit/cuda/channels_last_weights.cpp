#include "libonnxkit/cuda/channels_last_weights.h"

#include <cstring>
#include <map>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::cuda {
namespace {

using plan::View;

plan::Dims strides_of(const plan::Dims& dims) { return {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]}; }

/// Whether channels lie side by side already, as they do where there is one, or one tap.
bool is_in_order(const View& view) {
  const plan::Dims strides = strides_of(view.dims);
  for (std::size_t axis = 0; axis < view.rank(); ++axis)
    if (view.dims[axis] != 1 && view.strides[axis] != strides[axis]) return false;
  return true;
}

std::vector<std::byte> reordered(const Tensor& tensor, const View& view) {
  const auto width = static_cast<std::size_t>(storage_bits(view.type)) / 8;
  std::vector<std::byte> result(static_cast<std::size_t>(view.size()) * width);
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
      }
    }
  }
  return result;
}

}  // namespace

Result<void> channels_last_weights(plan::Plan& plan) {
  std::map<std::tuple<std::uint32_t, std::int64_t, plan::Dims, plan::Dims>, View> done;
  for (plan::Step& step : plan.steps) {
    if (step.kind != plan::convolution_step) continue;
    View& view = step.inputs[1];
    const plan::Buffer buffer = plan.buffers[view.buffer];
    if (buffer.home != plan::Home::constant || is_in_order(view)) continue;
    const auto [at, is_new] = done.try_emplace({view.buffer, view.offset, view.dims, view.strides}, view);
    if (is_new) {
      const plan::Dims in_memory = {view.dims[0], view.dims[2], view.dims[3], view.dims[1]};
      auto tensor = Tensor::from_bytes(view.type, in_memory, reordered(plan.constants[buffer.index], view));
      if (!tensor) return tensor.error();
      View& changed = at->second;
      changed.buffer = static_cast<std::uint32_t>(plan.buffers.size());
      changed.offset = 0;
      changed.strides = strides_of(view.dims);
      plan.buffers.push_back({.home = plan::Home::constant,
                              .type = view.type,
                              .bytes = tensor->bytes().size(),
                              .index = plan.constants.size()});
      plan.constants.push_back(*std::move(tensor));
    }
    view = at->second;
  }
  return {};
}

}  // namespace onnxkit::cuda
