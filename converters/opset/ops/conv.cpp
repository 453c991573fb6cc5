#include <algorithm>

#include <fmt/core.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/interpolation.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

/// The attributes of a window, as the node has them.
void copy_window(Step& step, ir::Node& conv) {
  for (const std::string_view name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}) {
    if (const ir::Attribute* given = step.node().find_attribute(name)) conv.attributes.push_back(clone(*given));
  }
}

/// The narrowest type that holds the sums of the products of a filter with 8-bit integers exactly.
ElementType sum_type_conv(Step& step, std::size_t filters) {
  const auto sizes = step.sizes(step.input(filters));
  if (!sizes || sizes->empty()) return ElementType::float64;
  double sum = 255.0 * 255.0;
  for (std::size_t axis = 1; axis < sizes->size(); ++axis) sum *= static_cast<double>((*sizes)[axis]);
  return sum < 1 << 24 ? ElementType::float32 : ElementType::float64;
}

/// Integers without their zero point as real numbers. `by_filter`: one zero point for each.
ValueId centred(Step& step, std::size_t input, std::size_t zero_point, ElementType real, bool by_filter) {
  const ValueId x = cast(step, step.input(input), real, "real");
  if (!step.has_input(zero_point)) return x;
  ValueId zero = cast(step, step.input(zero_point), real, "zero");
  const auto known = step.sizes(step.input(zero_point));
  const bool is_single = known && (known->empty() || (known->size() == 1 && known->front() == 1));
  if (by_filter && !is_single) {
    List column(static_cast<std::size_t>(step.need_rank(step.input(input))), 1);
    column.front() = -1;
    zero = reshape(step, zero, column, "zeros");
  }
  return step.add("Sub", {x, zero}, {}, "centred");
}

void integer_in_reals(Step& step) {
  const ElementType real = sum_type_conv(step, 1);
  const ValueId x = centred(step, 0, 2, real, false), w = centred(step, 1, 3, real, true), y = step.value("sums");
  copy_window(step, step.emit("Conv", {x, w}, {y}));
  step.emit("Cast", {y}, {step.output(0)}, {{"to", static_cast<std::int64_t>(ElementType::int32)}});
  step.replace();
}

// ---- QLinearConv

/// To the nearest integer, halves to the even one.
ValueId rounded_conv(Step& step, ValueId x) {
  const ElementType real = ElementType::float64;
  const Attr to_real{"to", static_cast<std::int64_t>(real)};
  const ValueId half = step.number(real, 0.5, "half"), two = step.number(real, 2, "two");
  const ValueId below = step.add("Floor", {x}, {}, "below");
  const ValueId rest = step.add("Sub", {x, below}, {}, "rest");
  const ValueId even = step.add("Mul", {step.add("Floor", {step.add("Mul", {below, half})}), two}, {}, "even");
  const ValueId is_odd = step.add("Greater", {below, even}, {}, "is_odd");
  const ValueId above_half = step.add("Greater", {rest, half}, {}, "above_half");
  const ValueId below_half = step.add("Less", {rest, half}, {}, "below_half");
  const ValueId tie_up = step.add("And", {is_odd, step.add("Not", {below_half})}, {}, "tie_up");
  const ValueId up = step.add("Cast", {step.add("Or", {above_half, tie_up})}, {to_real}, "up");
  return step.add("Add", {below, up}, {}, "rounded");
}

/// An input of one element, or of one for each filter, along the channels of the result.
ValueId by_filter(Step& step, std::size_t input, std::int64_t rank) {
  const ValueId real = cast(step, step.input(input), ElementType::float64, "real");
  List row(static_cast<std::size_t>(rank), 1);
  row[1] = -1;
  return reshape(step, real, row, "by_filter");
}

void quantized_in_reals(Step& step) {
  const ElementType real = ElementType::float64, type = step.need_elem(step.input(7));
  const std::int64_t rank =
      step.rank(step.input(3)).value_or(0) > 0 ? *step.rank(step.input(3)) : step.need_rank(step.input(0));
  if (rank < 3) refuse("the image has no spatial axes");
  const ElementType narrow = sum_type_conv(step, 3);
  const ValueId x = centred(step, 0, 2, narrow, false), w = centred(step, 3, 5, narrow, true);
  const ValueId exact = step.value("sums");
  copy_window(step, step.emit("Conv", {x, w}, {exact}));
  ValueId sums = exact;
  if (narrow != real) sums = step.add("Cast", {sums}, {{"to", static_cast<std::int64_t>(real)}}, "wide");
  if (step.has_input(8)) sums = step.add("Add", {sums, by_filter(step, 8, rank)}, {}, "biased");
  const ValueId scales = step.add("Mul", {by_filter(step, 1, rank), by_filter(step, 4, rank)}, {}, "product");
  const ValueId scaled = step.add("Mul", {sums, scales}, {}, "scaled");
  const ValueId quotient = step.add("Div", {scaled, cast(step, step.input(6), real, "y_scale")}, {}, "quotient");
  const ValueId moved =
      step.add("Add", {rounded_conv(step, quotient), cast(step, step.input(7), real, "y_zero")}, {}, "moved");
  const bool is_signed = type == ElementType::int8;
  const ValueId clipped = bounded(step, moved, is_signed ? -128 : 0, is_signed ? 127 : 255);
  step.emit("Cast", {clipped}, {step.output(0)}, {{"to", static_cast<std::int64_t>(type)}});
  step.replace();
}

// ---- DeformConv

/// Sizes of a deformed convolution, all constants.
struct Deformed {
  List kernel, result, strides, dilations, begin;
  std::int64_t group = 1, offset_group = 1, channels = 0, filters = 0, taps = 1, positions = 1;
};

List axis_list_conv(Step& step, std::string_view name, std::size_t length, std::int64_t fallback) {
  const List list = step.integers(name).value_or(List(length, fallback));
  const auto is_odd = [fallback](std::int64_t v) { return v < fallback || v >= std::int64_t{1} << 30; };
  if (list.size() != length || std::any_of(list.begin(), list.end(), is_odd))
    refuse(fmt::format("attribute {} does not match the spatial axes", name));
  return list;
}

Deformed need_sizes(Step& step) {
  Deformed d;
  const auto weight = step.sizes(step.input(1));
  if (!weight || weight->size() < 3) refuse_unknown("the size of the filters is unknown");
  d.kernel.assign(weight->begin() + 2, weight->end());
  const std::size_t axes = d.kernel.size();
  d.strides = axis_list_conv(step, "strides", axes, 1);
  d.dilations = axis_list_conv(step, "dilations", axes, 1);
  d.begin = axis_list_conv(step, "pads", 2 * axes, 0);
  d.group = step.integer("group", 1);
  d.offset_group = step.integer("offset_group", 1);
  d.channels = (*weight)[1] * d.group;
  d.filters = weight->front();
  if (d.group < 1 || d.offset_group < 1 || d.channels % d.offset_group != 0)
    refuse("the number of channels is not divisible by group");
  const checker::Shape* offsets = step.shape(step.input(2));
  for (std::size_t i = 0; i < axes; ++i) {
    if (!offsets || offsets->size() != axes + 2 || !(*offsets)[i + 2].is_constant())
      refuse_unknown("the size of the result is unknown");
    d.result.push_back((*offsets)[i + 2].constant());
  }
  d.positions = storable_count(d.result);
  d.taps = storable_count(d.kernel);
  return d;
}

/// first + index * step along one axis of a grid of these sizes, for all its points in row-major order.
std::vector<double> ramp(const List& sizes, std::size_t axis, std::int64_t first, std::int64_t step) {
  std::int64_t inner = 1, count = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    count *= sizes[i];
    if (i > axis) inner *= sizes[i];
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(first + i / inner % sizes[axis] * step));
  return values;
}

/// What each tap of the kernel sees at each output position, [N, channels * taps, positions].
ValueId columns_of_taps(Step& step, const Deformed& d) {
  const ElementType real = ElementType::float64;
  const auto axes = static_cast<std::int64_t>(d.kernel.size());
  const checker::Shape* shape = step.shape(step.input(0));
  const ValueId offsets =
      reshape(step, cast(step, step.input(2), real, "offsets"), {-1, d.taps, axes, d.positions}, "offsets");
  std::vector<ValueId> coordinates;
  for (std::size_t axis = 0; axis < d.kernel.size(); ++axis) {
    const ValueId own =
        step.add("Gather", {offsets, step.scalar(static_cast<std::int64_t>(axis))}, {{"axis", std::int64_t{2}}}, "own");
    const ValueId in_window = step.numbers(real, {d.taps, 1}, ramp(d.kernel, axis, 0, d.dilations[axis]), "cells");
    const ValueId windows =
        step.numbers(real, {1, d.positions}, ramp(d.result, axis, -d.begin[axis], d.strides[axis]), "places");
    const ValueId at = step.add("Add", {step.add("Add", {own, in_window}), windows}, {}, "at");
    coordinates.push_back(step.add("Flatten", {at}, {{"axis", std::int64_t{1}}}, "position"));
  }
  const std::vector<ValueId> lengths = image_lengths(step, step.add("Shape", {step.input(0)}), d.kernel.size(), shape);
  ValueId image = cast(step, step.input(0), real, "image");
  if (d.offset_group > 1) {
    const auto sizes = step.sizes(step.input(0));
    if (!sizes) refuse_unknown("the size of the image is unknown");
    std::int64_t area = 1;
    for (std::size_t i = 2; i < sizes->size(); ++i) area *= (*sizes)[i];
    image = reshape(step, image, {-1, d.channels / d.offset_group, area}, "groups");
  }
  InterpolationRules rules;
  rules.leaves_out_zero_weights = true;
  const bool knows_batch = shape && !shape->empty() && shape->front().is_constant();
  const std::int64_t batch = knows_batch ? shape->front().constant() * d.offset_group : -1;
  const ValueId images = each_image(step, image, batch, lengths.size());
  const ValueId sampled = interpolate(step, image, real, images, lengths, coordinates, rules);
  const ValueId channels = step.add("Transpose", {sampled}, {{"perm", List{0, 2, 1}}}, "planes");
  ValueId seen =
      reshape(step, channels, {-1, d.offset_group, d.channels / d.offset_group, d.taps, d.positions}, "seen");
  if (step.has_input(4)) {
    const ValueId mask = cast(step, step.input(4), real, "mask");
    seen =
        step.add("Mul", {seen, reshape(step, mask, {-1, d.offset_group, 1, d.taps, d.positions}, "mask")}, {}, "seen");
  }
  return reshape(step, seen, {-1, d.channels * d.taps, d.positions}, "columns");
}

void deformed_in_steps(Step& step) {
  const Deformed d = need_sizes(step);
  const ElementType type = step.need_elem(step.input(0)), work = wider(type, ElementType::float32);
  ValueId columns = columns_of_taps(step, d);
  if (work != ElementType::float64)
    columns = step.add("Cast", {columns}, {{"to", static_cast<std::int64_t>(work)}}, "columns");
  const ValueId filters = reshape(step, cast(step, step.input(1), work, "filters"),
                                  {d.filters, d.channels / d.group * d.taps, 1}, "filters");
  const ValueId bias = step.has_input(3) ? cast(step, step.input(3), work, "bias") : ValueId::none;
  const ValueId sums = step.add("Conv", {columns, filters, bias}, {{"group", d.group}}, "sums");
  List sizes = {0, 0};
  sizes.insert(sizes.end(), d.result.begin(), d.result.end());
  const ValueId result = step.vector(sizes, "shape");
  if (work == type) {
    step.emit("Reshape", {sums, result}, {step.output(0)});
  } else {
    const ValueId shaped = step.add("Reshape", {sums, result}, {}, "shaped");
    step.emit("Cast", {shaped}, {step.output(0)}, {{"to", static_cast<std::int64_t>(type)}});
  }
  step.replace();
}

}  // namespace

void register_conv(StepRegistry& registry) {
  const Way wording = compatible("only the specification text differs");
  registry.change({"Conv"}, 11, wording, wording);
  registry.introduced({"ConvInteger"}, 10,
                      adapt("computed in floating point, which represents its sums exactly", integer_in_reals));
  registry.introduced({"QLinearConv"}, 10,
                      adapt("computed in floating point, which represents its sums exactly", quantized_in_reals));
  registry.introduced({"DeformConv"}, 19, adapt("rewritten using Gather, weights and Conv", deformed_in_steps));
  registry.types({"Conv", "DeformConv"}, {22});
}

}  // namespace onnxkit::opset
