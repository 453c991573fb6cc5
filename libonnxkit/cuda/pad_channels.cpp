#include "libonnxkit/cuda/pad_channels.h"

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/channels_last_weights.h"
#include "libonnxkit/cuda/device.h"
#include "libonnxkit/plan/step_edit.h"

namespace onnxkit::cuda {
namespace {

using plan::Dims;
using plan::Home;
using plan::Step;
using plan::View;

// Where fewer multiplications are saved than the zeros take to write.
constexpr std::int64_t fewest_filters = 16, fewest_taps = 9;

/// That tensor cores take at once; 0 for types that go without.
std::int64_t channels_at_once(ElementType type, bool allows_tf32) {
  if (is_16_bit_real(type)) return 8;
  return type == ElementType::float32 && allows_tf32 ? 4 : 0;
}

bool wants_channels(const plan::Plan& plan, const Step& step, std::int64_t channels) {
  const auto& parameters = static_cast<const plan::ConvolutionParameters&>(*step.parameters);
  const View &x = step.inputs[0], &w = step.inputs[1];
  return parameters.groups == 1 && x.rank() == 4 && w.type == x.type && x.dims[1] < channels &&
         w.dims[1] == x.dims[1] && w.dims[0] >= fewest_filters && w.dims[2] * w.dims[3] >= fewest_taps &&
         plan.buffers[w.buffer].home == Home::constant && x.size() > 0 && step.outputs[0].strides[1] == 1;
}

/// A place at the end of the arena, which no other value shares.
View padded_image(plan::Plan& plan, const View& x, std::int64_t channels) {
  View padded = x;
  padded.dims[1] = channels;
  padded.strides = channels_last_strides_of(padded.dims);
  padded.offset = 0;
  padded.buffer = static_cast<std::uint32_t>(plan.buffers.size());
  const std::uint64_t begin = aligned_bytes(plan.arena_bytes);
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

Result<std::vector<Step>> pad_channels(plan::Plan& plan, bool allows_tf32) {
  const plan::BufferUses uses(plan);
  std::vector<Step> zero_steps;
  std::vector<std::pair<std::size_t, Step>> copies;  // before which step
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    if (plan.steps[at].kind != plan::convolution_step) continue;
    const View x = plan.steps[at].inputs[0];
    const std::int64_t channels = channels_at_once(x.type, allows_tf32);
    if (!wants_channels(plan, plan.steps[at], channels)) continue;
    const auto weights = with_channels_last(plan, plan.steps[at].inputs[1], channels);
    if (!weights) return weights.error();
    const View image = padded_image(plan, x, channels);
    const View held = plan::sliced(image, 1, 0, 1, x.dims[1]);
    const View rest = plan::sliced(image, 1, x.dims[1], 1, channels - x.dims[1]);
    zero_steps.push_back(zeros(rest, plan.steps[at]));
    if (Step* const writer = writer_of(plan, uses, x)) {
      writer->outputs[0] = held;
    } else {
      copies.emplace_back(
          at, Step{.kind = plan::copy_step, .inputs = {x}, .outputs = {held}, .nodes = plan.steps[at].nodes});
    }
    plan.steps[at].inputs[0] = image;
    plan.steps[at].inputs[1] = *weights;
  }
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy)
    plan.steps.insert(plan.steps.begin() + static_cast<std::ptrdiff_t>(copy->first), std::move(copy->second));
  return zero_steps;
}

}  // namespace onnxkit::cuda
