#include "checker/infer/shared/window_rules.h"

#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

/// nullopt for a text that is no way of padding, which a rule of its own reports.
std::optional<AutoPad> auto_pad(InferContext& context) {
  const std::string_view text = context.string("auto_pad");
  if (text == "SAME_UPPER" || text == "SAME_LOWER") return AutoPad::same;
  if (text == "VALID") return AutoPad::valid;
  return text.empty() || text == "NOTSET" ? std::optional(AutoPad::none) : std::nullopt;
}

std::optional<Shape> read_kernel(InferContext& context, std::size_t axes, const Shape* weight) {
  Shape kernel(axes);
  if (weight && weight->size() == axes + 2) kernel.assign(weight->begin() + 2, weight->end());
  if (!context.has_attribute("kernel_shape")) return weight ? std::optional(kernel) : std::nullopt;
  const auto stated = axis_attribute(context, "kernel_shape", axes, 1, 1);
  if (!stated) return std::nullopt;
  const Shape said(stated->begin(), stated->end());
  bool differs = false;
  for (std::size_t axis = 0; axis < said.size(); ++axis)
    differs = context.sizes_clash(kernel[axis], said[axis]) || differs;
  if (!differs) return said;
  context.error({.code = "shape-mismatch",
                 .at = at_attribute("kernel_shape"),
                 .message = "kernel_shape contradicts the weight",
                 .expected = context.text(kernel),
                 .found = context.text(said)});
  return kernel;
}

/// Positions of a window in `span` elements beyond its own extent.
Dim positions(InferContext& context, Dim span, std::int64_t stride, bool ceil) {
  DimPool& dims = context.dims();
  return dims.add(ceil ? dims.ceil_div(span, stride) : dims.floor_div(span, stride), 1);
}

/// A size from `least` to `most`, where runtimes disagree which.
Dim size_between(InferContext& context, Dim least, Dim most, std::string_view reason) {
  DimPool& dims = context.dims();
  const Dim open = context.lost(fmt::format("{}: {} to {}", reason, context.text(least), context.text(most)));
  const Dim size = dims.add(least, dims.min(open, dims.sub(most, least)));
  return size.is_unknown() ? open : size;
}

/// With ceil_mode the last window may hang over the end, and even start behind the image.
Dim count_rounded_up(InferContext& context, const Window& window, std::size_t axis, Dim image, Dim span) {
  DimPool& dims = context.dims();
  const std::int64_t stride = window.strides[axis];
  const Dim all = positions(context, span, stride, true);
  if (window.auto_pad == AutoPad::valid) {
    const Dim complete = positions(context, span, stride, false);
    return all == complete ? all
                           : size_between(context, complete, all, "runtimes disagree on auto_pad VALID with ceil_mode");
  }
  const Dim begin = dims.add(image, window.pads[axis]);
  const Dim inside = dims.min(all, dims.ceil_div(begin, stride));
  // A window that starts in the padding exists only when padding and stride together reach beyond the kernel.
  const Dim reach = dims.sub(dims.add(window.pads[axis + window.axes()], stride - 1), extent(context, window, axis));
  const auto most = dims.upper_bound(reach);
  if (inside == all || (most && *most < 0)) return all;
  if (window.drops_windows_in_padding) return inside;
  return size_between(context, inside, all, "runtimes disagree on windows that start in the padding before opset 22");
}

}  // namespace

std::optional<std::vector<std::int64_t>> axis_attribute(InferContext& context, std::string_view name, std::size_t axes,
                                                        std::int64_t fallback, std::int64_t least,
                                                        std::size_t per_axis) {
  const auto* values = context.list_as_written<std::int64_t>(name);
  if (!values) return std::vector<std::int64_t>(axes * per_axis, fallback);
  if (values->size() != axes * per_axis) {
    context.error({.code = "shape-mismatch",
                   .at = at_attribute(name),
                   .message = fmt::format("{} does not match the {} spatial axes", name, axes),
                   .expected = fmt::format("{} entries", axes * per_axis),
                   .found = fmt::format("{} entries", values->size())});
    return std::nullopt;
  }
  const auto wrong = std::find_if(values->begin(), values->end(), [&](std::int64_t value) { return value < least; });
  if (wrong == values->end()) return *values;
  context.error({.code = "attribute-value",
                 .at = at_attribute(name),
                 .message = fmt::format("{} is too small a value for {}", *wrong, name),
                 .expected = fmt::format("{} or more", least),
                 .found = std::to_string(*wrong)});
  return std::nullopt;
}

std::optional<Window> read_window(InferContext& context, std::size_t axes, const Shape* weight) {
  const auto kernel = read_kernel(context, axes, weight);
  const auto strides = axis_attribute(context, "strides", axes, 1, 1);
  const auto dilations = axis_attribute(context, "dilations", axes, 1, 1);
  const auto pads = axis_attribute(context, "pads", axes, 0, 0, 2);
  const auto padding = auto_pad(context);
  if (!kernel || !strides || !dilations || !pads || !padding) return std::nullopt;
  return Window{.kernel = *kernel,
                .strides = *strides,
                .dilations = *dilations,
                .pads = *pads,
                .auto_pad = *padding,
                .ceil = context.integer("ceil_mode") != 0};
}

Dim extent(InferContext& context, const Window& window, std::size_t axis) {
  DimPool& dims = context.dims();
  return dims.add(dims.mul(dims.sub(window.kernel[axis], 1), window.dilations[axis]), 1);
}

Dim total_pads(InferContext& context, const Window& window, std::size_t axis) {
  if (window.auto_pad != AutoPad::none) return 0;
  return context.dims().add(window.pads[axis], window.pads[axis + window.axes()]);
}

Shape window_counts(InferContext& context, const Window& window, std::span<const Dim> image) {
  DimPool& dims = context.dims();
  Shape counts(window.axes());
  for (std::size_t axis = 0; axis < window.axes() && axis < image.size(); ++axis) {
    if (window.auto_pad == AutoPad::same) {
      counts[axis] = dims.ceil_div(image[axis], window.strides[axis]);
      continue;
    }
    const Dim padded = dims.add(image[axis], total_pads(context, window, axis));
    const Dim span = dims.sub(padded, extent(context, window, axis));
    // With ceil_mode a window may hang over the end by less than a stride.
    const std::int64_t least = window.ceil ? 1 - window.strides[axis] : 0;
    context.demand(SizeRelation::at_most, least, span);
    if (const auto most = dims.upper_bound(span); most && *most < least) {
      context.error({.code = "negative-size",
                     .at = at_node(),
                     .message = fmt::format("the window is larger than the image along spatial axis {}", axis),
                     .expected = fmt::format("a window of at most {} elements, padding included",
                                             context.text(dims.sub(padded, least))),
                     .found = fmt::format("{} elements", context.text(extent(context, window, axis)))});
      continue;
    }
    counts[axis] = window.ceil ? count_rounded_up(context, window, axis, image[axis], span)
                               : positions(context, span, window.strides[axis], false);
  }
  return counts;
}

}  // namespace onnxkit::checker
