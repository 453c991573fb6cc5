#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cpu/epilogue.h"
#include "libonnxkit/cpu/window.h"

namespace onnxkit::cpu {
namespace {

class ConvolutionKernel : public Kernel {
 public:
  /// Without packed weights those of the run are packed in it.
  ConvolutionKernel(const plan::Step& step, const Convolution& convolution, std::unique_ptr<StepEpilogue> epilogue,
                    PackedWeights::Floats packed)
      : from_(step.inputs[0]),
        filter_(step.inputs[1]),
        to_(step.outputs[0]),
        convolution_(convolution),
        epilogue_(std::move(epilogue)),
        packed_(std::move(packed)) {
    offsets_.assign(epilogue_->inputs(), 0);
  }

  void run(RunState& state) override {
    PackedWeights::Floats packed = packed_;
    Convolution convolution = convolution_;
    if (!packed) {
      packed = std::make_shared<AlignedFloats>(packed_weights_floats(convolution_));
      const auto stored = row_major_floats(reinterpret_cast<const std::byte*>(state.at<float>(filter_)), filter_);
      pack_weights(*state.threads, packed->data(), stored.data(), convolution);
      convolution.has_finite_weights = are_finite(stored.data(), filter_.size());
    }
    convolve(*state.threads, convolution, state.at<float>(from_), packed->data(), state.at<float>(to_),
             epilogue_->bind(state, offsets_));
  }

  std::uint64_t scratch_bytes() const override {
    if (packed_) return 0;
    return sizeof(float) * static_cast<std::uint64_t>(packed_weights_floats(convolution_) + filter_.size());
  }

 private:
  View from_, filter_, to_;
  Convolution convolution_;
  std::unique_ptr<StepEpilogue> epilogue_;
  PackedWeights::Floats packed_;
  std::vector<std::int64_t> offsets_;
};

/// A view of the sizes of the output [n, c, h, w], as [pixels, channels] wherever pixels of the output lie; nothing where its pixels are not evenly
/// apart, as those of a number for each row, column or image are not.
std::optional<View> as_pixels(const View& view) {
  const std::int64_t rows = view.dims[2], columns = view.dims[3], images = view.dims[0], channels = view.dims[1];
  const std::int64_t apart = columns > 1 ? view.strides[3] : rows > 1 ? view.strides[2] : view.strides[0];
  if (rows > 1 && view.strides[2] != apart * columns) return std::nullopt;
  if (images > 1 && view.strides[0] != apart * columns * rows) return std::nullopt;
  View result = view;
  result.dims = {images * rows * columns, channels};
  result.strides = {apart, channels > 1 ? view.strides[1] : 0};
  return result;
}

Result<std::unique_ptr<StepEpilogue>> convolution_epilogue(const plan::Step& step) {
  std::vector<View> others;
  for (std::size_t i = 2; i < step.inputs.size(); ++i) {
    auto pixels = as_pixels(step.inputs[i]);
    if (!pixels)
      return make_error("not-supported", "an operand behind a convolution whose pixels are not evenly apart");
    others.push_back(*std::move(pixels));
  }
  return StepEpilogue::make(static_cast<const plan::ConvolutionParameters&>(*step.parameters).epilogue,
                            std::move(others));
}

std::optional<std::string> refuse_convolution(const plan::Plan& plan, const plan::Step& step) {
  for (const View* image : {&step.inputs[0], &step.outputs[0]}) {
    if (image->type != ElementType::float32 || !image->has_channels_side_by_side())
      return "an image that is not float32 with channels side by side";
  }
  const View& filter = step.inputs[1];
  if (plan.buffers[filter.buffer].home != plan::Home::constant && filter.type != ElementType::float32)
    return "weights of the run that are not float32";
  const auto epilogue = convolution_epilogue(step);
  return epilogue ? std::nullopt : std::optional(epilogue.error().diagnostic.message);
}

Result<std::unique_ptr<Kernel>> make_convolution(const plan::Step& step, Preparation& preparation) {
  if (const auto reason = refuse_convolution(preparation.plan, step)) return make_error("not-supported", *reason);
  const auto& parameters = static_cast<const plan::ConvolutionParameters&>(*step.parameters);
  const View& output = step.outputs[0];
  const View& filter = step.inputs[1];
  auto epilogue = convolution_epilogue(step);
  Convolution convolution{.window = window_of(step.inputs[0], output, {filter.dims[2], filter.dims[3]},
                                              parameters.strides, parameters.dilations, parameters.pads),
                          .out_channels = output.dims[1],
                          .groups = parameters.groups};
  if (!preparation.is_constant(filter))
    return std::unique_ptr<Kernel>(
        std::make_unique<ConvolutionKernel>(step, convolution, *std::move(epilogue), nullptr));
  const std::string how =
      fmt::format("convolution of {} groups{}", parameters.groups, packs_by_columns(convolution) ? " by columns" : "");
  auto packed = preparation.pack_once(preparation.weight_key(how, filter), [&] {
    const auto stored = preparation.stored(filter, true);
    auto floats = std::make_shared<AlignedFloats>(packed_weights_floats(convolution));
    pack_weights(preparation.threads, floats->data(), stored.data(), convolution);
    floats->has_finite_weights = are_finite(stored.data(), filter.size());
    return floats;
  });
  convolution.has_finite_weights = packed->has_finite_weights;
  preparation.is_packed(filter);
  return std::unique_ptr<Kernel>(
      std::make_unique<ConvolutionKernel>(step, convolution, *std::move(epilogue), std::move(packed)));
}

}  // namespace

void register_convolution(KernelRegistry& registry);
void register_convolution(KernelRegistry& registry) {
  registry.add(plan::convolution_step, make_convolution, refuse_convolution);
}

}  // namespace onnxkit::cpu
