#include "converters/foreign/tensorflow_family/resize.h"

namespace onnxkit::tensorflow_family {
namespace {

using foreign::Sampling;

ValueId resized_to(WriteCall& call, std::string_view op, ValueId size, Type type, bool aligned, bool centred) {
  if (op == "ResizeBilinear") type.elem = ElementType::float32;
  const ValueId result =
      emit(call, op,
           {{"images", call.input(0)}, {"size", size}, {"align_corners", aligned}, {"half_pixel_centers", centred}},
           std::move(type));
  return cast(call, result, call.elem(0));
}

ValueId resized(WriteCall& call, std::string_view op, const std::vector<Sampling>& axes, bool aligned, bool centred) {
  Type type = call.type(0);
  Ints sizes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    sizes.push_back(axes[a].out);
    (*type.shape)[a + 1] = Dim(axes[a].out);
  }
  return resized_to(call, op, numbers(call, sizes), std::move(type), aligned, centred);
}

/// To sizes that only the run knows.
void resize_open(WriteCall& call, const foreign::OpenResize& open) {
  const Type size_type = Type::tensor(ElementType::int32, Shape{Dim(2)});
  ValueId size = ValueId::none;
  if (open.scales.empty()) {
    size = part(call, cast(call, call.input(3), ElementType::int32), {2}, {4}, {1}, size_type);
  } else {
    const ValueId sizes = part(call, sizes_of(call, call.input(0)), {1}, {3}, {1}, size_type);
    size = binary(call, "Mul", sizes, numbers(call, open.scales));
  }
  const bool is_linear = call.text("mode", "nearest") == "linear";
  const std::string_view op = is_linear ? "ResizeBilinear" : "ResizeNearestNeighbor";
  call.result(resized_to(call, op, size, call.output_type(), open.aligned, open.centred));
}

void resize_nearest(WriteCall& call, const std::vector<Sampling>& axes) {
  const std::string_view mode = call.text("nearest_mode", "round_prefer_floor");
  constexpr std::string_view op = "ResizeNearestNeighbor";
  if (axes.size() == 2 && foreign::takes_same(axes, mode, "asymmetric", "floor"))
    return call.result(resized(call, op, axes, false, false));
  if (axes.size() == 2 && foreign::takes_same(axes, mode, "half_pixel", "round_prefer_ceil"))
    return call.result(resized(call, op, axes, false, true));
  ValueId result = call.input(0);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    Type type = call.type_of(result);
    (*type.shape)[a + 1] = Dim(axes[a].out);
    result = gather(call, result, numbers(call, foreign::nearest_places(axes[a], mode)),
                    static_cast<std::int64_t>(a + 1), std::move(type));
  }
  call.result(result);
}

void resize_by_weights(WriteCall& call, const std::vector<Sampling>& axes, bool is_cubic, Interpolate interpolated) {
  const double a = call.real("cubic_coeff_a", -0.75);
  const bool leaves_out = call.integer("exclude_outside", 0) != 0;
  if (!is_cubic && axes.size() == 2 && call.elem(0) == ElementType::float32) {
    for (const std::string_view mode : {"half_pixel", "align_corners", "asymmetric"})
      if (foreign::looks_as(axes, mode))
        return call.result(resized(call, "ResizeBilinear", axes, mode == "align_corners", mode == "half_pixel"));
  }
  ValueId result = call.input(0);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].in == axes[axis].out && axes[axis].scale == 1) continue;
    result = interpolated(
        call, result, axis + 1, axes[axis],
        is_cubic ? foreign::cubic_weights(axes[axis], a, leaves_out) : foreign::linear_weights(axes[axis]));
  }
  call.result(result);
}

}  // namespace

bool has_coordinates(WriteCall& call) {
  const std::string_view coordinates = call.text("coordinate_transformation_mode", "half_pixel");
  if (coordinates == "tf_crop_and_resize") call.refuse("it crops while it resizes");
  if (coordinates != "half_pixel" && coordinates != "pytorch_half_pixel" && coordinates != "align_corners" &&
      coordinates != "asymmetric")
    call.refuse("its coordinates have no counterpart");
  return !call.refused();
}

void write_resize(WriteCall& call, Interpolate interpolated) {
  const std::size_t rank = call.rank(0);
  const std::string_view mode = call.text("mode", "nearest");
  std::vector<Sampling> axes;
  for (std::size_t axis = 1; axis + 1 < rank; ++axis) {
    const auto sampling = foreign::sampling_of(call, axis, rank);
    if (sampling) {
      axes.push_back(*sampling);
      continue;
    }
    if (const auto open = foreign::open_resize(call, rank); open && foreign::keeps_channels(call))
      return resize_open(call, *open);
    return call.refuse("its sizes are known only when the model runs", "give the open sizes constants");
  }
  if (!foreign::keeps_channels(call)) return call.refuse("it resizes the channels");
  if (call.refused()) return;
  if (mode == "nearest") return resize_nearest(call, axes);
  resize_by_weights(call, axes, mode == "cubic", interpolated);
}

void write_depth_to_space(WriteCall& call) {
  const std::int64_t block = call.integer("blocksize", 1);
  const ValueId x = call.input(0);
  if (call.text("mode", "DCR") == "DCR")
    return call.result(emit(call, "DepthToSpace", {{"input", x}, {"block_size", block}}, call.output_type()));
  const auto height = call.size(0, 1), width = call.size(0, 2), channels = call.size(0, 3);
  if (!height || !width || !channels || !call.output_type().shape) return call.refuse("its sizes are not known");
  const ValueId split = reshape(
      call, x,
      {(*call.shape(0))[0], Dim(*height), Dim(*width), Dim(*channels / (block * block)), Dim(block), Dim(block)});
  call.result(reshape(call, transpose(call, split, {0, 1, 4, 2, 5, 3}), *call.output_type().shape));
}

void write_space_to_depth(WriteCall& call) {
  call.result(emit(call, "SpaceToDepth", {{"input", call.input(0)}, {"block_size", call.integer("blocksize", 1)}},
                   call.output_type()));
}

}  // namespace onnxkit::tensorflow_family
