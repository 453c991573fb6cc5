#include "libonnxkit/cpu/kernels/integer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/window.h"

namespace onnxkit::cpu {
namespace {

using IntegerParameters = plan::IntegerConvolutionParameters;

/// Weights [m, c, h, w] without their zero points, in row-major order.
std::vector<std::int8_t> centered_weights(const plan::Plan& plan, const View& filter,
                                          const std::vector<std::int64_t>& zeros) {
  const std::byte* const from = plan.constants[plan.buffers[filter.buffer].index].bytes().data() + filter.offset;
  std::vector<std::int8_t> weights(static_cast<std::size_t>(filter.size()));
  const bool is_centered = std::all_of(zeros.begin(), zeros.end(), [](std::int64_t zero) { return zero == 0; });
  if (is_centered && filter.type == ElementType::int8 && filter.is_contiguous()) {
    std::memcpy(weights.data(), from, weights.size());
    return weights;
  }
  std::size_t at = 0;
  for (std::int64_t m = 0; m < filter.dims[0]; ++m) {
    const std::int64_t zero = zeros.empty() ? 0 : zeros[zeros.size() == 1 ? 0 : static_cast<std::size_t>(m)];
    for (std::int64_t c = 0; c < filter.dims[1]; ++c) {
      for (std::int64_t y = 0; y < filter.dims[2]; ++y) {
        for (std::int64_t x = 0; x < filter.dims[3]; ++x) {
          const std::byte byte =
              from[m * filter.strides[0] + c * filter.strides[1] + y * filter.strides[2] + x * filter.strides[3]];
          const std::int64_t number = filter.type == ElementType::int8 ? std::int64_t{static_cast<std::int8_t>(byte)}
                                                                       : std::int64_t{static_cast<std::uint8_t>(byte)};
          weights[at++] = static_cast<std::int8_t>(number - zero);
        }
      }
    }
  }
  return weights;
}

class IntegerConvolutionKernel : public Kernel {
 public:
  IntegerConvolutionKernel(const plan::Step& step, const IntegerConvolution& convolution,
                           const IntegerParameters& parameters, PackedWeights::Floats packed)
      : inputs_(step.inputs), to_(step.outputs[0]), convolution_(convolution), packed_(std::move(packed)) {
    const auto channels = static_cast<std::size_t>(convolution.out_channels);
    addend_.resize(channels);
    if (!parameters.requantization) return;
    const auto& stated = *parameters.requantization;
    result_ = {.divisor = stated.divisor,
               .zero = static_cast<std::int32_t>(stated.zero),
               .lower = static_cast<std::int32_t>(stated.lower),
               .upper = static_cast<std::int32_t>(stated.upper)};
    factors_.assign(channels, stated.factors[0]);
    if (stated.factors.size() > 1) factors_ = stated.factors;
    for (const double factor : factors_) quotients_.push_back(static_cast<float>(factor / stated.divisor));
  }

  void run(RunState& state) override {
    const auto* const words = reinterpret_cast<const std::int32_t*>(packed_->data());
    const std::int32_t* const sums = words + packed_integer_words(convolution_);
    const auto zero =
        static_cast<std::int32_t>(inputs_[2].type == ElementType::int8 ? *state.at<std::int8_t>(inputs_[2])
                                                                       : *state.at<std::uint8_t>(inputs_[2]));
    const std::int32_t held = held_zero_point(convolution_, zero);
    for (std::size_t j = 0; j < addend_.size(); ++j) {
      const std::int64_t bias =
          inputs_.size() > 3 ? state.at<std::int32_t>(inputs_[3])[static_cast<std::int64_t>(j) * inputs_[3].strides[0]]
                             : 0;
      addend_[j] = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(bias - std::int64_t{held} * sums[j]));  // wraps as sums do
    }
    IntegerResult result = result_;
    result.addend = addend_.data();
    if (factors_.empty()) {
      result.sums = state.at<std::int32_t>(to_);
    } else {
      result.bytes = state.at<std::uint8_t>(to_);
      result.factors = factors_.data();
      result.quotients = quotients_.data();
    }
    convolve_integers(*state.threads, convolution_, state.at<std::uint8_t>(inputs_[0]), held, words, result);
  }

 private:
  std::vector<View> inputs_;
  View to_;
  IntegerConvolution convolution_;
  PackedWeights::Floats packed_;
  std::vector<std::int32_t> addend_;
  std::vector<double> factors_;
  std::vector<float> quotients_;
  IntegerResult result_;
};

std::optional<std::string> refuse_integer_convolution(const plan::Plan& plan, const plan::Step& step) {
  constexpr std::int64_t most_depthwise_taps = 128;
  const auto& parameters = static_cast<const IntegerParameters&>(*step.parameters);
  const View &x = step.inputs[0], &filter = step.inputs[1], &to = step.outputs[0];
  if (!is_byte(x.type) || !is_byte(filter.type)) return "factors of more than 8 bits";
  if (!x.has_channels_last() || !to.has_channels_last()) return "an image without channels side by side";
  if (plan.buffers[filter.buffer].home != plan::Home::constant) return "the weights are not constant";
  if (step.inputs[2].size() != 1) return "more than one zero point of the image";
  const std::int64_t depth = filter.size() / std::max<std::int64_t>(filter.dims[0], 1);
  if (depth > most_integer_depth) return "sums that may leave 32 bits";
  if (parameters.groups == 1) return std::nullopt;
  if (parameters.groups != x.dims[1] || filter.dims[0] != x.dims[1]) return "groups of more than one channel";
  return depth <= most_depthwise_taps ? std::nullopt : std::optional<std::string>("too many taps");
}

Result<std::unique_ptr<Kernel>> make_integer_convolution(const plan::Step& step, Preparation& preparation) {
  if (const auto reason = refuse_integer_convolution(preparation.plan, step))
    return make_error("not-supported", *reason);
  const auto& parameters = static_cast<const IntegerParameters&>(*step.parameters);
  const View &x = step.inputs[0], &filter = step.inputs[1], &to = step.outputs[0];
  const IntegerConvolution convolution{.window = window_of(x, to, {filter.dims[2], filter.dims[3]}, parameters.strides,
                                                           parameters.dilations, parameters.pads),
                                       .out_channels = to.dims[1],
                                       .is_depthwise = parameters.groups > 1,
                                       .is_signed = x.type == ElementType::int8};
  const std::string how = fmt::format("integers {} {} {}", parameters.groups, convolution.is_signed,
                                      fmt::join(parameters.weight_zeros, ","));
  auto packed = preparation.pack_once(preparation.weight_key(how, filter), [&] {
    const std::int64_t words = packed_integer_words(convolution);
    auto memory = std::make_shared<AlignedFloats>(words + convolution.out_channels);
    auto* const to_words = reinterpret_cast<std::int32_t*>(memory->data());
    const auto weights = centered_weights(preparation.plan, filter, parameters.weight_zeros);
    pack_integers(preparation.threads, to_words, weights.data(), convolution);
    const std::int64_t depth = filter.size() / filter.dims[0];
    for (std::int64_t m = 0; m < filter.dims[0]; ++m) {
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += weights[static_cast<std::size_t>(m * depth + k)];
      to_words[words + m] = sum;
    }
    return memory;
  });
  preparation.is_packed(filter);
  return std::unique_ptr<Kernel>(
      std::make_unique<IntegerConvolutionKernel>(step, convolution, parameters, std::move(packed)));
}

}  // namespace

void register_integer_convolution(KernelRegistry& registry);
void register_integer_convolution(KernelRegistry& registry) {
  registry.add(plan::integer_convolution_step, make_integer_convolution, refuse_integer_convolution);
}

}  // namespace onnxkit::cpu
