#include <algorithm>
#include <numeric>

#include "libonnxkit/plan/convolve.h"

// ConvTranspose: of every stride-th position along each axis of the output, a phase, only some taps of the filters are summed. So each phase is a
// convolution of stride 1 by these taps, turned round. Where windows lie side by side along the last axis, its phases are channels of one convolution.
namespace onnxkit::plan {
namespace {

/// Along one axis: the positions first + i * stride of the output, and the taps that reach them.
struct Phase {
  std::int64_t first = 0, count = 0;                      ///< of the output
  std::int64_t tap = 0, tap_step = 1, taps = 0;           ///< of the kernel
  std::int64_t dilation = 1, pad_begin = 0, pad_end = 0;  ///< of the convolution; pads may be negative

  /// Not only zeros beside the image.
  bool sees(std::int64_t in) const { return pad_begin > -in && pad_end > -in && pad_begin + pad_end > -in; }
};

struct Axis {
  std::int64_t in, out, kernel, stride, dilation;
  std::int64_t begin;  ///< positions of what the windows write in front of the output
};

/// Output o gets image i times tap k where i * stride + k * dilation = o + begin: taps of one phase are stride / shared apart.
Phase phase_of_tap(const Axis& axis, std::int64_t tap) {
  const std::int64_t shared = std::gcd(axis.stride, axis.dilation);
  Phase phase{.tap = tap, .tap_step = axis.stride / shared, .dilation = axis.dilation / shared};
  const std::int64_t behind = (tap * axis.dilation - axis.begin) % axis.stride;
  phase.first = behind < 0 ? behind + axis.stride : behind;
  phase.count = (axis.out - phase.first + axis.stride - 1) / axis.stride;
  phase.taps = (axis.kernel - tap - 1) / phase.tap_step + 1;
  const std::int64_t image = (phase.first + axis.begin - tap * axis.dilation) / axis.stride;
  phase.pad_begin = (phase.taps - 1) * phase.dilation - image;
  phase.pad_end = phase.count + image - axis.in;
  return phase;
}

/// The taps that begin a phase.
std::int64_t first_taps(const Axis& axis) {
  return std::min(axis.kernel, axis.stride / std::gcd(axis.stride, axis.dilation));
}

std::vector<Phase> phases_of(const Axis& axis) {
  std::vector<Phase> phases;
  for (std::int64_t tap = 0; tap < first_taps(axis); ++tap) {
    const Phase phase = phase_of_tap(axis, tap);
    if (phase.first < axis.out && phase.sees(axis.in)) phases.push_back(phase);
  }
  return phases;
}

/// How many positions the result lies behind the start of what the windows write.
std::int64_t begin_of(LowerCall& call, const Window& window, std::size_t axis, std::int64_t in, std::int64_t out,
                      std::int64_t added) {
  const auto mode = call.string("auto_pad");
  const bool is_same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  const auto stated = call.integers("output_shape");
  if (!is_same && (!stated || stated->empty())) return mode == "VALID" ? 0 : window.pads[axis];
  const std::int64_t extent = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
  const std::int64_t total = std::max<std::int64_t>(0, (in - 1) * window.strides[axis] + added + extent - out);
  return mode == "SAME_UPPER" ? total / 2 : total - total / 2;
}

/// The axes of the images, with a height for lines.
std::vector<Axis> axes_of(LowerCall& call) {
  const Dims &in = call.input_dims(0), &filter = call.input_dims(1), out = call.output_dims(0);
  const Window window = window_geometry(call, Dims(filter.begin() + 2, filter.end()));
  const auto added = call.integers("output_padding").value_or(Dims(window.kernel.size(), 0));
  std::vector<Axis> axes;
  if (in.size() == 3) axes.push_back({.in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1, .begin = 0});
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    axes.push_back({.in = in[i + 2],
                    .out = out[i + 2],
                    .kernel = window.kernel[i],
                    .stride = window.strides[i],
                    .dilation = window.dilations[i],
                    .begin = begin_of(call, window, i, in[i + 2], out[i + 2], added[i])});
  return axes;
}

/// Filters [c, m / groups, kernel] as [groups, m / groups, c / groups, kernel].
View turned_filters(View filters, std::int64_t groups, bool is_line) {
  if (is_line) filters = with_height(filters);
  filters.dims[0] /= groups;
  filters.dims.insert(filters.dims.begin(), groups);
  filters.strides.insert(filters.strides.begin(), filters.strides[0] * filters.dims[1]);
  std::swap(filters.dims[1], filters.dims[2]);
  std::swap(filters.strides[1], filters.strides[2]);
  return filters;
}

/// Windows along the last axis that lie side by side and fill the output: a number of each channel for each tap.
bool fills_lines(const Axis& axis) {
  return axis.kernel == axis.stride && axis.dilation == 1 && axis.begin == 0 && axis.out == axis.in * axis.stride;
}

/// Such images [..., m, h, w * taps] as [..., taps * m, h, w]. Channels lie side by side, and pixels of a line behind one another.
View with_taps_as_channels(View image, std::int64_t taps) {
  image.dims[1] *= taps;
  image.dims.back() /= taps;
  image.strides.back() *= taps;
  return image;
}

/// The filters [groups, m, c, ..., taps] of these, [groups, taps, m, c, ..., 1].
View with_taps_in_front(View filters) {
  filters.dims.insert(filters.dims.begin() + 1, filters.dims.back());
  filters.strides.insert(filters.strides.begin() + 1, filters.strides.back());
  filters.dims.back() = 1;
  return filters;
}

/// The bias for as many times its channels.
View repeated_bias(LowerCall& call, const View& bias, std::int64_t times) {
  const Dims channels = {times * bias.dims[0]};
  if (const auto numbers = call.constant_reals(2)) {
    std::vector<float> all;
    for (std::int64_t i = 0; i < times; ++i) all.insert(all.end(), numbers->begin(), numbers->end());
    return call.constant(all, channels);
  }
  return reshaped_or_copied(call, broadcast_to(bias, Dims{times, bias.dims[0]}), channels);
}

/// One phase along each axis: which part of the output it writes, by which filters.
struct Part {
  View output;
  Convolved convolved;
};
Part part_of(const std::vector<Axis>& axes, const std::vector<Phase>& phases, View output, View filters) {
  Part part;
  Window& window = part.convolved.window;
  window.strides.assign(axes.size(), 1);
  window.pads.assign(2 * axes.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Phase& phase = phases[i];
    output = sliced(output, i + 2, phase.first, axes[i].stride, phase.count);
    const std::int64_t last_tap = phase.tap + (phase.taps - 1) * phase.tap_step;
    filters = sliced(filters, filters.rank() - axes.size() + i, last_tap, -phase.tap_step, phase.taps);
    window.kernel.push_back(phase.taps);
    window.dilations.push_back(phase.dilation);
    window.pads[i] = phase.pad_begin;
    window.pads[axes.size() + i] = phase.pad_end;
  }
  part.output = std::move(output);
  part.convolved.filters = std::move(filters);
  return part;
}

/// A phase of each axis, in all combinations.
std::vector<std::vector<Phase>> combinations_of(const std::vector<Axis>& axes) {
  std::vector<std::vector<Phase>> all = {{}};
  for (const Axis& axis : axes) {
    std::vector<std::vector<Phase>> longer;
    for (const Phase& phase : phases_of(axis)) {
      for (const auto& known : all) {
        longer.push_back(known);
        longer.back().push_back(phase);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// What no tap reaches.
void write_bias(LowerCall& call, const View& output) {
  const auto bias = bias_of(call);
  if (!bias) return fill(call, output, 0);
  Expression e;
  e.convert(e.input(0, lane_of(bias->type)), Lane::f32);
  Dims dims(output.rank() - 1, 1);
  dims[0] = bias->dims[0];
  call.emit_map(e, {reshaped(*bias, dims)}, output);
}

/// The bias, or zeros, where the convolutions leave positions of the output out.
void write_rest(LowerCall& call, const std::vector<Axis>& axes, const std::vector<std::vector<Phase>>& combinations,
                const View& output) {
  std::int64_t written = 0, all = 1;
  for (const auto& phases : combinations)
    written += std::accumulate(phases.begin(), phases.end(), std::int64_t{1},
                               [](std::int64_t count, const Phase& phase) { return count * phase.count; });
  for (const Axis& axis : axes) all *= axis.out;
  if (written != all) write_bias(call, output);
}

PaddedVolume volume_for(LowerCall& call, const std::vector<std::vector<Phase>>& combinations) {
  std::int64_t front = 0, behind = 0;
  for (const auto& phases : combinations) {
    front = std::max(front, phases[0].pad_begin);
    behind = std::max(behind, phases[0].pad_end);
  }
  return padded_volume(call, call.input(0), front, behind);
}

Unlowered unfit_images(LowerCall& call) {
  const std::size_t rank = call.input_dims(0).size();
  if (call.since() < 11) return "an old version";
  if (rank < 3 || rank > 5) return "only images of one to three axes";
  if (!is_narrow_real(call.output_type(0))) return "only for numbers of 32 bits and less";
  if (call.input(0).size() == 0 || element_count(call.output_dims(0)) == 0) return "without elements";
  return std::nullopt;
}

Unlowered lower_conv_transpose(LowerCall& call) {
  if (const auto reason = unfit_images(call)) return reason;
  const std::size_t rank = call.input_dims(0).size();
  std::vector<Axis> axes = axes_of(call);
  const std::int64_t groups = call.integer("group", 1);
  const std::int64_t taps = groups == 1 && fills_lines(axes.back()) ? axes.back().kernel : 1;
  if (taps > 1)
    axes.back() = {.in = axes.back().in, .out = axes.back().in, .kernel = 1, .stride = 1, .dilation = 1, .begin = 0};
  std::int64_t parts = 1;
  for (const Axis& axis : axes) {
    // Those of a volume are as many as the planes of the filters in all phases of the depth.
    const std::int64_t count = rank == 5 && &axis == axes.data() ? axis.kernel : first_taps(axis);
    if (count > most_convolutions / parts) return many_convolutions;
    parts *= count;
  }
  const auto combinations = combinations_of(axes);
  Dims out = call.output_dims(0);
  if (rank == 3) out.insert(out.begin() + 2, 1);
  const View output = rank == 5 ? make_volume(call, out) : make_channels_last(call, out);
  write_rest(call, axes, combinations, output);
  Filters filters(call);
  View written = output, turned = turned_filters(filters.all(), groups, rank == 3);
  std::optional<View> bias = bias_of(call);
  if (taps > 1) {
    written = with_taps_as_channels(output, taps);
    turned = with_taps_in_front(turned);
    if (bias) bias = repeated_bias(call, *bias, taps);
  }
  const auto write_parts = [&](const auto& convolve) {
    for (const auto& phases : combinations) {
      Part part = part_of(axes, phases, written, turned);
      part.convolved.groups = groups;
      part.convolved.bias = bias;
      convolve(part);
    }
  };
  if (rank == 5) {
    const PaddedVolume volume = volume_for(call, combinations);
    write_parts([&](const Part& part) { convolve_volume(call, filters, volume, part.convolved, part.output); });
  } else {
    const View image = channels_last(call, rank == 3 ? with_height(call.input(0)) : call.input(0));
    write_parts([&](const Part& part) { convolve_image(call, filters, image, part.convolved, part.output); });
  }
  give_image(call, output);
  return std::nullopt;
}

}  // namespace

void register_conv_transpose(LoweringRegistry& registry);
void register_conv_transpose(LoweringRegistry& registry) {
  registry.add("ConvTranspose", all_versions(), lower_conv_transpose);
}

}  // namespace onnxkit::plan
