#include "libonnxkit/plan/images.h"

#include <algorithm>

namespace onnxkit::plan {
namespace {

constexpr std::int64_t largest_of_window = std::int64_t{1} << 30;

/// Products of two such numbers and of the sizes of an image do not overflow.
void require_small(const Dims& numbers, std::size_t count) {
  if (numbers.size() != count) throw Misfit("a window of another number of axes");
  for (const std::int64_t number : numbers)
    if (number < 0 || number > largest_of_window) throw Misfit("a window that is too large");
}

}  // namespace

Window window_geometry(LowerCall& call, Dims kernel) {
  const std::size_t axes = kernel.size();
  Window g{std::move(kernel), call.integers("strides").value_or(Dims(axes, 1)),
           call.integers("dilations").value_or(Dims(axes, 1)), call.integers("pads").value_or(Dims(2 * axes, 0))};
  for (const Dims* numbers : {&g.kernel, &g.strides, &g.dilations}) require_small(*numbers, axes);
  if (element_count(g.kernel) > largest_of_window) throw Misfit("a window that is too large");
  const auto mode = call.string("auto_pad");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    const Dims& in = call.input_dims(0);
    const Dims out = call.output_dims(0);
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t span = (g.kernel[i] - 1) * g.dilations[i] + 1;
      const std::int64_t all = std::max<std::int64_t>(0, (out[i + 2] - 1) * g.strides[i] + span - in[i + 2]);
      g.pads[i] = mode == "SAME_UPPER" ? all / 2 : all - all / 2;
      g.pads[axes + i] = all - g.pads[i];
    }
  } else if (mode == "VALID") {
    g.pads.assign(2 * axes, 0);
  }
  require_small(g.pads, 2 * axes);
  return g;
}

View with_height(const View& view) {
  View result = view;
  result.dims.insert(result.dims.begin() + 2, 1);
  result.strides.insert(result.strides.begin() + 2, view.strides[2] * view.dims[2]);
  return result;
}
Window with_height(Window g) {
  g.kernel.insert(g.kernel.begin(), 1);
  g.strides.insert(g.strides.begin(), 1);
  g.dilations.insert(g.dilations.begin(), 1);
  g.pads = {0, g.pads[0], 0, g.pads[1]};
  return g;
}

View make_channels_last(LowerCall& call, const Dims& dims) {
  View view = call.make(ElementType::float32, dims);
  view.strides = {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
  return view;
}

View channels_last(LowerCall& call, const View& view) {
  if (view.type == ElementType::float32 && view.has_channels_last()) return view;
  const View result = make_channels_last(call, view.dims);
  copy_as_float32(call, view, result);
  return result;
}

void copy_as_float32(LowerCall& call, const View& from, const View& to) {
  if (from.type == ElementType::float32) return call.emit_copy(from, to);
  Expression expression;
  expression.convert(expression.input(0, lane_of(from.type)), Lane::f32);
  call.emit_map(expression, {from}, to);
}

void give_image(LowerCall& call, View image) {
  if (call.output_dims(0).size() == 3) image = without_axis(std::move(image), 2);
  call.set_output(0, stored_as(call, image, LowerCall::stored_type(call.output_type(0))));
}

}  // namespace onnxkit::plan
