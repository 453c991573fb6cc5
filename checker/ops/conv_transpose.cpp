// ConvTranspose: filters [C, M/group, k1, ..., kn] write their window for each location of the image [N, C, d1, ..., dn].
//   size = stride * (image - 1) + output_padding + extent of the window - pads; output_shape states it instead, auto_pad SAME_* makes it
//   stride * image.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/window_rules.h"

namespace onnxkit::checker {
namespace {

void check_channels_conv_transpose(InferContext& context, std::int64_t groups) {
  const Shape* x = context.input_shape(0);
  const Shape* w = context.input_shape(1);
  if (!x) return;
  const Dim channels = (*x)[1];
  const std::string why = fmt::format("the channels cannot be split into {} groups", groups);
  if (!require_divisible(context, channels, groups, at_input(0), why)) return;
  if (!w) return;
  Shape expected(w->size());
  expected[0] = channels;
  require_shape(context, 1, expected, "the first axis of the weight must match the channels of the image");
}

/// The image sizes that the attribute states. Some files put batch and channels before them.
std::optional<Shape> stated_sizes_conv_transpose(InferContext& context, std::size_t axes) {
  const auto stated = context.integers("output_shape");
  if (!stated) return std::nullopt;
  if (stated->size() == axes + 2 || stated->size() == axes) {
    const auto image = stated->end() - static_cast<std::ptrdiff_t>(axes);
    const auto negative = std::find_if(image, stated->end(), [](std::int64_t size) { return size < 0; });
    if (negative == stated->end()) return Shape(image, stated->end());
    context.error({.code = "attribute-value",
                   .at = at_attribute("output_shape"),
                   .message = "the size of a spatial axis is negative",
                   .expected = "0 or more",
                   .found = fmt::format("{}", *negative)});
    return Shape(axes);
  }
  context.error({.code = "shape-mismatch",
                 .at = at_attribute("output_shape"),
                 .message = fmt::format("output_shape does not match the {} spatial axes", axes),
                 .expected = fmt::format("{} entries", axes),
                 .found = fmt::format("{} entries", stated->size())});
  return Shape(axes);
}

void check_output_padding(InferContext& context, const Window& window, const std::vector<std::int64_t>& padding) {
  for (std::size_t axis = 0; axis < padding.size(); ++axis) {
    const std::int64_t least = std::max(window.strides[axis], window.dilations[axis]);
    if (padding[axis] < least) continue;
    context.error({.code = "attribute-value",
                   .at = at_attribute("output_padding"),
                   .message = fmt::format("the output padding of spatial axis {} is too large", axis),
                   .expected = fmt::format("less than the stride or the dilation, {}", least),
                   .found = std::to_string(padding[axis])});
  }
}

Dim written_size(InferContext& context, const Window& window, std::size_t axis, Dim image, std::int64_t padding) {
  DimPool& dims = context.dims();
  if (window.auto_pad == AutoPad::same) {
    if (padding != 0) return context.lost("runtimes disagree on auto_pad SAME with output_padding");
    return dims.mul(image, window.strides[axis]);
  }
  const Dim steps = dims.mul(dims.sub(image, 1), window.strides[axis]);
  const Dim unpadded = dims.add(dims.add(steps, extent(context, window, axis)), padding);
  const Dim size = dims.sub(unpadded, total_pads(context, window, axis));
  if (const auto most = dims.upper_bound(size); most && *most < 0) {
    context.error({.code = "negative-size",
                   .at = at_node(),
                   .message = fmt::format("the pads crop more than the size of spatial axis {}", axis),
                   .expected = fmt::format("pads of at most {}", context.text(unpadded)),
                   .found = context.text(total_pads(context, window, axis))});
    return {};
  }
  return size;
}

Shape image_sizes(InferContext& context, std::size_t axes) {
  static const Shape no_weight;
  const Shape* x = context.input_shape(0);
  const Shape* w = context.input_shape(1);
  const auto window = read_window(context, axes, w ? w : &no_weight);
  const auto padding = axis_attribute(context, "output_padding", axes, 0, 0);
  if (window && padding) check_output_padding(context, *window, *padding);
  if (auto stated = stated_sizes_conv_transpose(context, axes)) return *stated;
  Shape sizes(axes);
  for (std::size_t axis = 0; window && padding && x && axis < axes; ++axis) {
    sizes[axis] = written_size(context, *window, axis, (*x)[axis + 2], (*padding)[axis]);
  }
  return sizes;
}

void infer_conv_transpose(InferContext& context) {
  if (rank_below(context, 0, 3) || rank_below(context, 1, 3)) return;
  const Shape* x = context.input_shape(0);
  const Shape* w = context.input_shape(1);
  if (!x && !w) return;
  const std::size_t rank = x ? x->size() : w->size();
  if (rank_differs(context, 1, rank)) return;
  const std::int64_t groups = context.integer("group", 1);
  Shape y(rank);
  if (x) y[0] = (*x)[0];
  if (require_in_range(context, "group", groups, 1)) {
    check_channels_conv_transpose(context, groups);
    if (w) y[1] = context.dims().mul((*w)[1], groups);
  }
  require_shape(context, 2, {y[1]}, "the bias must have one element per output channel");
  const Shape image = image_sizes(context, rank - 2);
  std::copy(image.begin(), image.end(), y.begin() + 2);
  context.set_shape(0, std::move(y));
}

}  // namespace

void register_conv_transpose(InferRegistry& registry) {
  registry.add("ConvTranspose", all_versions(), infer_conv_transpose, {.cost = cost::transposed_convolution});
}

}  // namespace onnxkit::checker
