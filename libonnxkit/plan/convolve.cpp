#include "libonnxkit/plan/convolve.h"

#include <algorithm>
#include <cmath>

namespace onnxkit::plan {
namespace {

/// Appends the numbers of a view of row-major ones that begins at `at`.
void append_numbers(std::vector<float>& to, const std::vector<double>& numbers, const View& view, std::size_t axis,
                    std::int64_t at) {
  if (axis == view.rank()) return to.push_back(static_cast<float>(numbers[static_cast<std::size_t>(at)]));
  for (std::int64_t i = 0; i < view.dims[axis]; ++i, at += view.strides[axis])
    append_numbers(to, numbers, view, axis + 1, at);
}

/// The image without what lies beyond negative pads, which become 0.
View cropped(View image, Window& window) {
  const std::size_t axes = window.kernel.size();
  for (std::size_t i = 0; i < axes; ++i) {
    std::int64_t &begin = window.pads[i], &end = window.pads[axes + i];
    const std::int64_t first = std::max<std::int64_t>(-begin, 0), behind = std::max<std::int64_t>(-end, 0);
    if (first + behind == 0) continue;
    image = sliced(image, i + 2, first, 1, image.dims[i + 2] - first - behind);
    begin = std::max<std::int64_t>(begin, 0), end = std::max<std::int64_t>(end, 0);
  }
  return image;
}

/// Whether a tap lies in the image at some of `count` positions.
bool meets_image(const Window& window, std::size_t axis, std::int64_t tap, std::int64_t size, std::int64_t count) {
  const std::int64_t stride = window.strides[axis], start = tap * window.dilations[axis] - window.pads[axis];
  const std::int64_t first = start >= 0 ? 0 : (-start + stride - 1) / stride;
  return first < count && start + first * stride < size;
}

/// Leaves out the outer taps that see nothing but padding, as those of a dilation larger than the image.
View without_unused_taps(Filters& all, View filters, Window& window, const View& image, const View& output) {
  if (!all.are_constant()) return filters;  // which may hold infinities
  const std::size_t axes = window.kernel.size();
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t size = image.dims[i + 2], count = output.dims[i + 2];
    const auto is_used = [&](std::int64_t tap) { return meets_image(window, i, tap, size, count); };
    std::int64_t first = 0, behind = window.kernel[i];
    while (first < behind && !is_used(first)) ++first;
    while (first < behind && !is_used(behind - 1)) --behind;
    if (first == behind || behind - first == window.kernel[i] || !all.are_finite()) continue;
    filters = sliced(filters, filters.rank() - axes + i, first, 1, behind - first);
    window.kernel[i] = behind - first;
    window.pads[i] -= first * window.dilations[i];
    window.pads[axes + i] =
        (count - 1) * window.strides[i] + (window.kernel[i] - 1) * window.dilations[i] + 1 - size - window.pads[i];
  }
  return filters;
}

ConvolutionParameters parameters_of(const Convolved& convolved, const Window& window) {
  ConvolutionParameters parameters;
  parameters.groups = convolved.groups;
  parameters.strides = window.strides;
  parameters.dilations = window.dilations;
  parameters.pads = window.pads;
  return parameters;
}

void add_operand(std::vector<View>& inputs, Expression& epilogue, const View& operand, const Dims& dims) {
  const Expression::Number sum = epilogue.input(0, Lane::f32);
  epilogue.apply(Operation::add, sum, epilogue.input(inputs.size() - 1, lane_of(operand.type)));
  inputs.push_back(broadcast_to(operand, dims));
}

View per_channel(const View& bias) { return reshaped(bias, {bias.dims[0], 1, 1}); }

/// The part of a window of a volume that moves over its slices.
Window window_of_slices(const Window& g) {
  return {{g.kernel[1], g.kernel[2]},
          {g.strides[1], g.strides[2]},
          {g.dilations[1], g.dilations[2]},
          {g.pads[1], g.pads[2], g.pads[4], g.pads[5]}};
}

bool has_even_slices(const View& volume) {
  return volume.dims[0] == 1 || volume.dims[2] == 1 || volume.strides[0] == volume.dims[2] * volume.strides[2];
}

View copied_volume(LowerCall& call, const View& view) {
  const View result = make_volume(call, view.dims);
  call.emit_copy(view, result);
  return result;
}

}  // namespace

View Filters::part(const View& view, const Dims& dims) {
  if (call_.is_constant(1)) {
    if (const auto same = try_reshaped(view, dims); same && view.size() == all_.size()) return *same;
  }
  if (const auto& known = numbers(); known && all_.is_contiguous()) {
    std::vector<float> of_part;
    of_part.reserve(static_cast<std::size_t>(view.size()));
    append_numbers(of_part, *known, view, 0, view.offset - all_.offset);
    return call_.constant(of_part, dims);
  }
  return channels_last(call_, reshaped_or_copied(call_, view, dims));
}

const std::optional<std::vector<double>>& Filters::numbers() {
  if (call_.is_constant(1) && !numbers_) numbers_ = call_.constant_reals(1);
  return numbers_;
}

bool Filters::are_finite() {
  const auto& known = numbers();
  return known && std::all_of(known->begin(), known->end(), [](double number) { return std::isfinite(number); });
}

std::optional<View> bias_of(LowerCall& call) { return call.has_input(2) ? std::optional(call.input(2)) : std::nullopt; }

void convolve_image(LowerCall& call, Filters& filters, View image, const Convolved& convolved, const View& output) {
  Window window = convolved.window;
  const View used = without_unused_taps(filters, convolved.filters, window, image, output);
  image = cropped(image, window);
  ConvolutionParameters parameters = parameters_of(convolved, window);
  const Dims filter = {output.dims[1], image.dims[1] / convolved.groups, window.kernel[0], window.kernel[1]};
  std::vector<View> inputs = {image, filters.part(used, filter)};
  if (convolved.bias) add_operand(inputs, parameters.epilogue, per_channel(*convolved.bias), output.dims);
  call.emit(convolution_step, std::move(inputs), {output}, std::move(parameters));
}

View make_volume(LowerCall& call, const Dims& dims) {
  View view = call.make(ElementType::float32, dims);
  view.strides = {element_count(std::span(dims).subspan(1)), 1, dims[1] * dims[3] * dims[4], dims[1] * dims[4],
                  dims[1]};
  return view;
}

View slices_of(View v) {
  v.strides = {v.dims[2] == 1 ? v.strides[0] : v.strides[2], 1, v.strides[3], v.strides[4]};
  v.dims = {v.dims[0] * v.dims[2], v.dims[1], v.dims[3], v.dims[4]};
  return v;
}

PaddedVolume padded_volume(LowerCall& call, const View& volume, std::int64_t front, std::int64_t behind) {
  Dims dims = volume.dims;
  dims[2] += front + behind;
  const View padded = make_volume(call, dims);
  if (front != 0) fill(call, sliced(padded, 2, 0, 1, front), 0);
  if (behind != 0) fill(call, sliced(padded, 2, front + volume.dims[2], 1, behind), 0);
  copy_as_float32(call, volume, sliced(padded, 2, front, 1, volume.dims[2]));
  return {padded, front};
}

void convolve_volume(LowerCall& call, Filters& filters, const PaddedVolume& volume, const Convolved& convolved,
                     const View& output) {
  const Window& g = convolved.window;
  const std::size_t depth = convolved.filters.rank() - 3;
  const Dims filter = {output.dims[1], volume.view.dims[1] / convolved.groups, g.kernel[1], g.kernel[2]};
  std::optional<View> sum;
  for (std::int64_t plane = 0; plane < g.kernel[0]; ++plane) {
    View planes =
        sliced(volume.view, 2, volume.front - g.pads[0] + plane * g.dilations[0], g.strides[0], output.dims[2]);
    if (!has_even_slices(planes)) planes = copied_volume(call, planes);
    Window window = window_of_slices(g);
    const View image = cropped(slices_of(planes), window);
    const bool is_last = plane + 1 == g.kernel[0] && has_even_slices(output);
    const View result = is_last ? output : make_volume(call, output.dims);
    ConvolutionParameters parameters = parameters_of(convolved, window);
    std::vector<View> inputs = {image, filters.part(sliced(convolved.filters, depth, plane, 1, 1), filter)};
    if (sum)
      add_operand(inputs, parameters.epilogue, slices_of(*sum), slices_of(result).dims);
    else if (convolved.bias)
      add_operand(inputs, parameters.epilogue, per_channel(*convolved.bias), slices_of(result).dims);
    call.emit(convolution_step, std::move(inputs), {slices_of(result)}, std::move(parameters));
    sum = result;
  }
  if (!has_even_slices(output)) call.emit_copy(*sum, output);
}

}  // namespace onnxkit::plan
