// Signal processing: windows, DFT, STFT, mel weights. Complex numbers are a last axis of size 2.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_window(InferContext& context) {
  set_elem_from_attribute(context, 0, "output_datatype", ElementType::float32);
  const Dim size = scalar_size(context, 0);
  if (size.is_constant() && size.constant() <= 0) {
    context.error({.code = "negative-size",
                   .at = at_input(0),
                   .message = "the window must have at least one element",
                   .expected = "1 or more",
                   .found = context.text(size)});
    return;
  }
  context.lose_shape(0, "the window's length is not constant");
  context.set_shape(0, {size});
}

void infer_mel(InferContext& context) {
  set_elem_from_attribute(context, 0, "output_datatype", ElementType::float32);
  DimPool& dims = context.dims();
  context.lose_shape(0, "the number of bins is not constant");
  context.set_shape(0, {dims.add(dims.floor_div(scalar_size(context, 1), 2), 1), scalar_size(context, 0)});
}

bool complex_axis_is_wrong(InferContext& context, std::size_t input, const Shape& shape) {
  const Dim last = shape.back();
  context.demand(SizeRelation::at_most, last, 2);
  if (!context.dims().never_equal(last, 1) || !context.dims().never_equal(last, 2)) return false;
  context.error({.code = "shape-mismatch",
                 .at = at_input(input),
                 .message = "the last axis must hold the real part, or the real and the imaginary part",
                 .expected = "a last axis of size 1 (real) or 2 (complex)",
                 .found = context.text(shape)});
  return true;
}

/// The axis is an attribute in version 17 and an input from 20 on; nullopt when it is not known or wrong.
std::optional<std::size_t> dft_axis(InferContext& context, std::size_t rank) {
  std::int64_t axis = 0;
  Where at = at_attribute("axis");
  if (context.since() < 20) {
    axis = context.integer("axis", 1);
  } else if (context.has_input(2)) {
    const auto given = context.constant_integer(2);
    if (!given) return std::nullopt;
    axis = *given;
    at = at_input(2);
  } else {
    axis = -2;
  }
  const auto signed_rank = static_cast<std::int64_t>(rank);
  const bool is_last = axis == -1 || axis == signed_rank - 1;
  if (axis < -signed_rank || axis >= signed_rank || is_last) {
    context.error({.code = "axis-range",
                   .at = at,
                   .message = fmt::format("axis {} of a tensor of rank {} is not a signal axis", axis, rank),
                   .expected = fmt::format("{} to -2 or 0 to {}", -signed_rank, signed_rank - 2),
                   .found = std::to_string(axis)});
    return std::nullopt;
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

void infer_dft(InferContext& context) {
  const bool onesided = context.integer("onesided") != 0;
  const bool inverse = context.integer("inverse") != 0;
  if (rank_below(context, 0, 2)) return;
  const Shape* shape = context.input_shape(0);
  if (!shape || complex_axis_is_wrong(context, 0, *shape)) return;
  const auto axis = dft_axis(context, shape->size());
  context.lose_shape(0, "the axis or the length of the transform is not constant");
  if (!axis) return context.set_shape(0, Shape(shape->size()));
  DimPool& dims = context.dims();
  Shape result = *shape;
  Dim length = result[*axis];
  if (context.has_input(1)) {
    length = scalar_size(context, 1);
  } else if (inverse && onesided) {
    length = dims.mul(dims.sub(length, 1), 2);
  }
  result[*axis] = onesided && !inverse ? dims.add(dims.floor_div(length, 2), 1) : length;
  result.back() = onesided && inverse ? 1 : 2;
  context.set_shape(0, std::move(result));
}

void infer_stft(InferContext& context) {
  // PyTorch writes real signals without an axis of parts, and runtimes take them.
  const Shape* signal = context.input_shape(0);
  const bool has_parts = !signal || signal->size() != 2;
  if ((has_parts && rank_differs(context, 0, 3)) || rank_differs(context, 2, 1)) return;
  if (!signal || (has_parts && complex_axis_is_wrong(context, 0, *signal))) return;
  DimPool& dims = context.dims();
  const Dim step = scalar_size(context, 1);
  if (step.is_constant() && step.constant() <= 0) {
    context.error({.code = "input-value",
                   .at = at_input(1),
                   .message = "the frame step must be positive",
                   .expected = "1 or more",
                   .found = context.text(step)});
    return;
  }
  const Shape* window = context.input_shape(2);
  Dim length = (*signal)[1];
  if (context.has_input(2)) length = window ? window->front() : Dim();
  if (context.has_input(3)) {
    const Dim given = scalar_size(context, 3);
    if (window) {
      require_equal(
          context, given, window->front(),
          {.code = "shape-mismatch", .at = at_input(2), .message = "the window and the frame differ in length"});
    }
    if (!given.is_unknown() || length.is_unknown() || !window) length = given;
  }
  if (dims.always_at_least(length, dims.add((*signal)[1], 1))) {
    context.error({.code = "shape-mismatch",
                   .at = at_input(0),
                   .message = "the signal is shorter than a frame",
                   .expected = fmt::format("{} samples or more", context.text(length)),
                   .found = context.text(*signal)});
    return;
  }
  const Dim frames = dims.add(dims.floor_div(dims.sub((*signal)[1], length), step), 1);
  const Dim bins = context.integer("onesided", 1) != 0 ? dims.add(dims.floor_div(length, 2), 1) : length;
  context.lose_shape(0, "the step or the length of a frame is not constant");
  context.set_shape(0, {(*signal)[0], frames, bins, 2});
}

}  // namespace

void register_spectral(InferRegistry& registry) {
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"})
    registry.add(op, all_versions(), infer_window, {.type_attributes = {"output_datatype"}});
  registry.add("MelWeightMatrix", all_versions(), infer_mel, {.type_attributes = {"output_datatype"}});
  registry.add("DFT", all_versions(), infer_dft, {.inputs = {{2, Role::axes, 1}}});
  registry.add("STFT", all_versions(), infer_stft);
}

}  // namespace onnxkit::checker
