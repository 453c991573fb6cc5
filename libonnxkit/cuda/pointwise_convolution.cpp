#include "libonnxkit/cuda/pointwise_convolution.h"

#include <algorithm>

namespace onnxkit::cuda {
namespace {

using plan::Dims;
using plan::View;

bool is_pointwise(const plan::ConvolutionParameters& parameters, const View& weights) {
  const auto all = [](const Dims& numbers, std::int64_t value) {
    return std::all_of(numbers.begin(), numbers.end(), [value](std::int64_t number) { return number == value; });
  };
  return weights.rank() == 4 && weights.dims[2] == 1 && weights.dims[3] == 1 && parameters.groups == 1 &&
         all(parameters.strides, 1) && all(parameters.pads, 0);
}

/// [n, c, h, w] as [n, h w, c], or as [n h w, c].
std::optional<View> rows_of(const View& picture, bool is_joined) {
  constexpr std::int64_t order[] = {0, 2, 3, 1};
  const Dims& dims = picture.dims;
  const std::int64_t pixels = dims[2] * dims[3];
  const View rows = plan::permuted(picture, order);
  return plan::try_reshaped(rows, is_joined ? Dims{dims[0] * pixels, dims[1]} : Dims{dims[0], pixels, dims[1]});
}

/// [m, c, 1, 1] as [c, m], for each picture.
std::optional<View> factor_of(const View& weights, const View& rows) {
  constexpr std::int64_t swapped[] = {1, 0};
  const auto filters = plan::try_reshaped(weights, {weights.dims[0], weights.dims[1]});
  if (!filters) return std::nullopt;
  Dims dims = rows.dims;
  dims[rows.rank() - 2] = weights.dims[1];
  return plan::broadcast_to(plan::permuted(*filters, swapped), dims);
}

std::optional<plan::Step> as_product(const plan::Step& step, bool is_joined) {
  plan::Step product = step;
  product.kind = plan::product_step;
  std::vector<View*> pictures = {&product.outputs[0]};
  for (std::size_t input = 0; input < product.inputs.size(); ++input)
    if (input != 1) pictures.push_back(&product.inputs[input]);
  for (View* picture : pictures) {
    const auto rows = rows_of(*picture, is_joined);
    if (!rows) return std::nullopt;
    *picture = *rows;
  }
  const auto weights = factor_of(step.inputs[1], product.outputs[0]);
  if (!weights) return std::nullopt;
  product.inputs[1] = *weights;
  auto parameters = std::make_shared<plan::ProductParameters>();
  parameters->epilogue = static_cast<const plan::ConvolutionParameters&>(*step.parameters).epilogue;
  product.parameters = std::move(parameters);
  return product;
}

}  // namespace

std::optional<plan::Step> as_product(const plan::Step& step) {
  if (step.kind != plan::convolution_step) return std::nullopt;
  if (!is_pointwise(static_cast<const plan::ConvolutionParameters&>(*step.parameters), step.inputs[1]))
    return std::nullopt;
  auto joined = as_product(step, true);
  return joined ? joined : as_product(step, false);
}

}  // namespace onnxkit::cuda
