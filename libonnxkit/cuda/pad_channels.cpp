#include "libonnxkit/cuda/pad_channels.h"

#include <cstring>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/program_pass.h"

namespace onnxkit::cuda {
namespace {

using plan::Dims;
using plan::Home;
using plan::Step;
using plan::View;

// Where fewer multiplications are saved than the zeros take to write.
constexpr std::int64_t fewest_filters = 16, fewest_taps = 9;

Dims channels_last(const Dims& dims) { return {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]}; }

bool wants_channels(const plan::Plan& plan, const Step& step, bool (*is_padded)(ElementType), std::int64_t multiple) {
  if (step.kind != plan::convolution_step) return false;
  const auto& parameters = static_cast<const plan::ConvolutionParameters&>(*step.parameters);
  const View &x = step.inputs[0], &w = step.inputs[1];
  return parameters.groups == 1 && x.rank() == 4 && is_padded(x.type) && w.type == x.type && x.dims[1] < multiple &&
         w.dims[1] == x.dims[1] && w.dims[0] >= fewest_filters && w.dims[2] * w.dims[3] >= fewest_taps &&
         plan.buffers[w.buffer].home == Home::constant && x.size() > 0 && step.outputs[0].strides[1] == 1;
}

/// The weights with zeros for the added channels, channels side by side.
Result<View> padded_weights(plan::Plan& plan, const View& w, std::int64_t channels) {
  const auto width = static_cast<std::size_t>(storage_bits(w.type)) / 8;
  View padded = w;
  padded.dims[1] = channels;
  padded.strides = channels_last(padded.dims);
  padded.offset = 0;
  std::vector<std::byte> bytes(static_cast<std::size_t>(padded.size()) * width);
  const std::byte* const from = plan.constants[plan.buffers[w.buffer].index].bytes().data();
  for (std::int64_t f = 0; f < w.dims[0]; ++f) {
    for (std::int64_t c = 0; c < w.dims[1]; ++c) {
      for (std::int64_t tap = 0; tap < w.dims[2] * w.dims[3]; ++tap) {
        const std::int64_t row = tap / w.dims[3], column = tap % w.dims[3];
        const auto place = [&](const View& view) {
          return static_cast<std::size_t>(view.offset + f * view.strides[0] + c * view.strides[1] +
                                          row * view.strides[2] + column * view.strides[3]) *
                 width;
        };
        std::memcpy(bytes.data() + place(padded), from + place(w), width);
      }
    }
  }
  auto tensor = Tensor::from_bytes(w.type, {w.dims[0], w.dims[2], w.dims[3], channels}, std::move(bytes));
  if (!tensor) return tensor.error();
  padded.buffer = static_cast<std::uint32_t>(plan.buffers.size());
  plan.buffers.push_back(
      {.home = Home::constant, .type = w.type, .bytes = tensor->bytes().size(), .index = plan.constants.size()});
  plan.constants.push_back(*std::move(tensor));
  return padded;
}

/// A place at the end of the arena, which no other value shares.
View padded_image(plan::Plan& plan, const View& x, std::int64_t channels) {
  constexpr std::uint64_t alignment = 256;
  View padded = x;
  padded.dims[1] = channels;
  padded.strides = channels_last(padded.dims);
  padded.offset = 0;
  padded.buffer = static_cast<std::uint32_t>(plan.buffers.size());
  const std::uint64_t begin = (plan.arena_bytes + alignment - 1) / alignment * alignment;
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(padded.size()) * static_cast<std::uint64_t>(storage_bits(x.type)) / 8;
  plan.buffers.push_back({.home = Home::arena, .type = x.type, .bytes = bytes, .offset = begin});
  plan.arena_bytes = begin + bytes;
  return padded;
}

Step zeros(const View& to, const Step& of) {
  auto parameters = std::make_shared<plan::MapParameters>();
  parameters->expression.constant(plan::lane_of(to.type), 0);
  return {
      .kind = plan::map_step, .inputs = {}, .outputs = {to}, .parameters = std::move(parameters), .nodes = of.nodes};
}

/// The step that writes the image where it can write it elsewhere: a map or a copy, of which nobody else reads anything.
Step* writer_of(plan::Plan& plan, const plan::BufferUses& uses, const View& x) {
  if (plan.buffers[x.buffer].home != Home::arena || uses.writers[x.buffer].size() != 1 ||
      uses.readers[x.buffer].size() != 1)
    return nullptr;
  Step& step = plan.steps[uses.writers[x.buffer].front()];
  const bool writes_anywhere = step.kind == plan::map_step || step.kind == plan::copy_step;
  return writes_anywhere && step.outputs[0] == x ? &step : nullptr;
}

}  // namespace

Result<void> pad_channels(plan::Plan& plan, bool (*is_padded)(ElementType type), std::int64_t multiple,
                          std::vector<Step>& once) {
  const plan::BufferUses uses(plan);
  std::vector<std::pair<std::size_t, Step>> added;  // before which step
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    if (!wants_channels(plan, plan.steps[at], is_padded, multiple)) continue;
    const View x = plan.steps[at].inputs[0];
    const auto weights = padded_weights(plan, plan.steps[at].inputs[1], multiple);
    if (!weights) return weights.error();
    const View image = padded_image(plan, x, multiple);
    const View held = plan::sliced(image, 1, 0, 1, x.dims[1]);
    const View rest = plan::sliced(image, 1, x.dims[1], 1, multiple - x.dims[1]);
    once.push_back(zeros(rest, plan.steps[at]));
    if (Step* const writer = writer_of(plan, uses, x)) {
      writer->outputs[0] = held;
    } else {
      added.emplace_back(
          at, Step{.kind = plan::copy_step, .inputs = {x}, .outputs = {held}, .nodes = plan.steps[at].nodes});
    }
    plan.steps[at].inputs[0] = image;
    plan.steps[at].inputs[1] = *weights;
  }
  for (auto of = added.rbegin(); of != added.rend(); ++of)
    plan.steps.insert(plan.steps.begin() + static_cast<std::ptrdiff_t>(of->first), std::move(of->second));
  return {};
}

}  // namespace onnxkit::cuda
