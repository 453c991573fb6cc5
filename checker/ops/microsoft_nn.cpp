// com.microsoft: convolutions and pools of quantized images, some with the channels last, and kin of ai.onnx operators with images or
// sequences. Weights are [M, C/group, k1, ..., kn] wherever the channels of the image are.
#include <algorithm>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/window_rules.h"

namespace onnxkit::checker {
namespace {

constexpr std::string_view microsoft = "com.microsoft";

Shape channels_to_front(Shape shape) {
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

Shape channels_to_back(Shape shape) {
  std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}

/// Sizes [N, channels, o1, ..., on] of windows over an image of that form; image sizes are unknown when the attributes are wrong.
Shape windows_over(InferContext& context, const Shape& image, Dim channels, const Shape* weight) {
  Shape result(image.size());
  result[0] = image[0];
  result[1] = channels;
  auto window = read_window(context, image.size() - 2, weight);
  if (!window) return result;
  window->drops_windows_in_padding = false;
  const Shape counts = window_counts(context, *window, std::span(image).subspan(2));
  std::copy(counts.begin(), counts.end(), result.begin() + 2);
  return result;
}

void infer_pool(InferContext& context, bool channels_last) {
  if (rank_below(context, 0, 3)) return;
  const Shape* given = context.input_shape(0);
  if (!given) return;
  const Shape image = channels_last ? channels_to_front(*given) : *given;
  Shape result = windows_over(context, image, image[1], nullptr);
  context.set_shape(0, channels_last ? channels_to_back(std::move(result)) : std::move(result));
}

void infer_max_pool_microsoft_nn(InferContext& context) { infer_pool(context, true); }
void infer_masked_pool(InferContext& context) { infer_pool(context, false); }
void infer_average_pool(InferContext& context) { infer_pool(context, context.integer("channels_last") != 0); }

void infer_qlinear_conv_microsoft_nn(InferContext& context) {
  if (rank_below(context, 0, 3) || rank_below(context, 3, 3)) return;
  const Shape* given = context.input_shape(0);
  const Shape* weight = context.input_shape(3);
  if (!given || !weight || rank_differs(context, 3, given->size())) return;
  const bool channels_last = context.integer("channels_last") != 0;
  const Shape image = channels_last ? channels_to_front(*given) : *given;
  const std::int64_t groups = context.integer("group", 1);
  if (require_in_range(context, "group", groups, 1)) {
    Shape expected(weight->size());
    expected[1] = context.dims().exact_div(image[1], groups).value_or(Dim());
    require_shape(context, 3, expected, "the weight does not match the number of channels");
  }
  require_shape(context, 8, {weight->front()}, "the bias must have one element per filter");
  Shape result = windows_over(context, image, weight->front(), weight);
  context.set_shape(0, channels_last ? channels_to_back(std::move(result)) : std::move(result));
}

/// LSTM whose weights are stored transposed, [directions, features, 4 * hidden_size].
void infer_quantized_lstm(InferContext& context) {
  if (rank_differs(context, 0, 3)) return;
  const Shape* x = context.input_shape(0);
  const std::string_view direction = context.string("direction");
  const Dim directions = direction == "bidirectional"                       ? Dim(2)
                         : direction == "forward" || direction == "reverse" ? Dim(1)
                                                                            : Dim();
  const auto stated = context.find_integer("hidden_size");
  const Dim hidden = stated && *stated > 0 ? Dim(*stated) : Dim();
  const Dim time = x ? (*x)[0] : Dim();
  const Dim batch = x ? (*x)[1] : Dim();
  context.set_shape(0, {time, directions, batch, hidden});
  context.set_shape(1, {directions, batch, hidden});
  context.set_shape(2, {directions, batch, hidden});
}

void infer_crop_and_resize(InferContext& context) {
  if (rank_differs(context, 0, 4)) return;
  require_shape(context, 1, {Dim(), 4}, "a region must be two corners");
  require_shape(context, 3, {2}, "crop_size must be a height and a width");
  const Shape* x = context.input_shape(0);
  const Shape* regions = context.input_shape(1);
  const Constant* size = context.input_value(3);
  const bool known = size && size->elements.size() == 2;
  context.set_shape(0, {regions && !regions->empty() ? regions->front() : Dim(), x ? (*x)[1] : Dim(),
                        known ? size->elements[0].dim() : Dim(), known ? size->elements[1].dim() : Dim()});
}

void infer_unique_microsoft_nn(InferContext& context) {
  const Dim count = context.data_dependent("unique", "the number of distinct elements");
  context.set_shape(0, {count});
  context.set_shape(1, {context.input_shape(0) ? product(context, *context.input_shape(0)) : Dim()});
  context.set_shape(2, {count});
}

}  // namespace

void register_microsoft_nn(InferRegistry& registry) {
  registry.add(microsoft, "NhwcMaxPool", all_versions(), infer_max_pool_microsoft_nn);
  registry.add(microsoft, "MaxpoolWithMask", all_versions(), infer_masked_pool);
  registry.add(microsoft, "QLinearAveragePool", all_versions(), infer_average_pool);
  registry.add(microsoft, "QLinearConv", all_versions(), infer_qlinear_conv_microsoft_nn,
               {.cost = cost::quantized_convolution});
  registry.add(microsoft, "DynamicQuantizeLSTM", all_versions(), infer_quantized_lstm);
  registry.add(microsoft, "CropAndResize", all_versions(), infer_crop_and_resize);
  registry.add(microsoft, "Unique", all_versions(), infer_unique_microsoft_nn);
}

}  // namespace onnxkit::checker
