// Images of other sizes, with channels last, and blocks of pixels as channels.
#include "converters/foreign/sampling.h"
#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

using foreign::cubic_weights;
using foreign::linear_weights;
using foreign::looks_as;
using foreign::nearest_places;
using foreign::Sampling;
using foreign::sampling_of;
using foreign::takes_same;

ValueId resized(WriteCall& call, std::string_view op, ValueId x, const std::vector<Sampling>& axes, bool aligned,
                bool centred) {
  Type type = call.type_of(x);
  Ints sizes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    sizes.push_back(axes[a].out);
    (*type.shape)[a + 1] = Dim(axes[a].out);
  }
  return call.emit(
      op, {{"x", x}, {"size", numbers(call, sizes)}, {"align_corners", aligned}, {"half_pixel_centers", centred}},
      std::move(type));
}

/// To sizes that only the run knows.
void resize_open(WriteCall& call, const foreign::OpenResize& open) {
  const Type size_type = Type::tensor(ElementType::int32, Shape{Dim(2)});
  ValueId size = ValueId::none;
  if (open.scales.empty()) {
    size = part(call, cast(call, call.input(3), ElementType::int32), {2}, {4}, {1}, size_type);
  } else {
    const Type all_type = Type::tensor(ElementType::int32, Shape{Dim(4)});
    const ValueId all = call.emit("SHAPE", {{"x", call.input(0)}, {"out_type", ElementType::int32}}, all_type);
    const ValueId picture = part(call, all, {1}, {3}, {1}, size_type);
    size = binary(call, "MUL", picture, numbers(call, open.scales));
  }
  const bool is_linear = call.text("mode", "nearest") == "linear";
  call.result(call.emit(
      is_linear ? "RESIZE_BILINEAR" : "RESIZE_NEAREST_NEIGHBOR",
      {{"x", call.input(0)}, {"size", size}, {"align_corners", open.aligned}, {"half_pixel_centers", open.centred}},
      call.output_type()));
}

void resize_nearest(WriteCall& call, const std::vector<Sampling>& axes) {
  const std::string_view mode = call.text("nearest_mode", "round_prefer_floor");
  constexpr std::string_view op = "RESIZE_NEAREST_NEIGHBOR";
  const ValueId x = call.input(0);
  if (axes.size() == 2 && takes_same(axes, mode, "asymmetric", "floor"))
    return call.result(resized(call, op, x, axes, false, false));
  if (axes.size() == 2 && takes_same(axes, mode, "half_pixel", "round_prefer_ceil"))
    return call.result(resized(call, op, x, axes, false, true));
  ValueId result = x;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const Ints places = nearest_places(axes[a], mode);
    Type type = call.type_of(result);
    (*type.shape)[a + 1] = Dim(axes[a].out);
    result = call.emit("GATHER",
                       {{"x", result}, {"indices", numbers(call, places)}, {"axis", static_cast<std::int64_t>(a + 1)}},
                       std::move(type));
  }
  call.result(result);
}

/// Along each axis the product with a matrix of weights.
ValueId interpolated(WriteCall& call, ValueId x, std::size_t axis, const Sampling& sampling,
                     const std::vector<double>& weights) {
  const std::size_t rank = rank_of(call, x);
  Ints order;
  for (std::size_t a = 0; a < rank; ++a) order.push_back(static_cast<std::int64_t>(a));
  std::swap(order[axis], order.back());
  const ValueId moved = transpose(call, x, order);
  Type type = call.type_of(moved);
  type.shape->back() = Dim(sampling.out);
  const ValueId matrix_of_weights =
      call.reals_tensor(call.type_of(x).elem, {sampling.out, sampling.in}, std::span<const double>(weights));
  const ValueId product = call.emit(
      "FULLY_CONNECTED",
      {{"input", moved}, {"weights", matrix_of_weights}, {"bias", ValueId::none}, {"keep_num_dims", rank != 2}},
      std::move(type));
  return transpose(call, product, order);
}

void resize_by_weights(WriteCall& call, const std::vector<Sampling>& axes, bool is_cubic) {
  const double a = call.real("cubic_coeff_a", -0.75);
  const bool leaves_out = call.integer("exclude_outside", 0) != 0;
  if (!is_cubic && axes.size() == 2) {
    for (const std::string_view mode : {"half_pixel", "align_corners", "asymmetric"})
      if (looks_as(axes, mode))
        return call.result(
            resized(call, "RESIZE_BILINEAR", call.input(0), axes, mode == "align_corners", mode == "half_pixel"));
  }
  ValueId result = call.input(0);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].in == axes[axis].out && axes[axis].scale == 1) continue;
    result = interpolated(call, result, axis + 1, axes[axis],
                          is_cubic ? cubic_weights(axes[axis], a, leaves_out) : linear_weights(axes[axis]));
  }
  call.result(result);
}

void map_resize(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const std::string_view mode = call.text("mode", "nearest"),
                         coordinates = call.text("coordinate_transformation_mode", "half_pixel");
  if (coordinates == "tf_crop_and_resize") return call.refuse("it crops while it resizes");
  if (coordinates != "half_pixel" && coordinates != "pytorch_half_pixel" && coordinates != "align_corners" &&
      coordinates != "asymmetric")
    return call.refuse("its coordinates have no counterpart");
  if (call.elem(0) != ElementType::float32 && mode != "nearest")
    return call.refuse("it interpolates other elements than float32");
  std::vector<Sampling> axes;
  for (std::size_t axis = 1; axis + 1 < rank; ++axis) {
    const auto sampling = sampling_of(call, axis, rank);
    if (sampling) {
      axes.push_back(*sampling);
      continue;
    }
    if (const auto open = open_resize(call, rank); open && foreign::keeps_channels(call))
      return resize_open(call, *open);
    return call.refuse("its sizes are known only when the model runs", "give the open sizes constants");
  }
  if (!foreign::keeps_channels(call)) return call.refuse("it resizes the channels");
  if (call.refused()) return;
  if (mode == "nearest") return resize_nearest(call, axes);
  resize_by_weights(call, axes, mode == "cubic");
}

/// Channels as blocks: [N, H, W, C b b] to [N, H b, W b, C].
void map_depth_to_space(WriteCall& call) {
  const std::int64_t block = call.integer("blocksize", 1);
  const ValueId x = call.input(0);
  if (call.text("mode", "DCR") == "DCR")
    return call.result(call.emit("DEPTH_TO_SPACE", {{"x", x}, {"block_size", block}}, call.output_type()));
  const auto height = call.size(0, 1), width = call.size(0, 2), channels = call.size(0, 3);
  if (!height || !width || !channels || !call.output_type().shape) return call.refuse("its sizes are not known");
  const ValueId split = reshape(
      call, x,
      {(*call.shape(0))[0], Dim(*height), Dim(*width), Dim(*channels / (block * block)), Dim(block), Dim(block)});
  call.result(reshape(call, transpose(call, split, {0, 1, 4, 2, 5, 3}), *call.output_type().shape));
}

void map_space_to_depth(WriteCall& call) {
  call.result(call.emit("SPACE_TO_DEPTH", {{"x", call.input(0)}, {"block_size", call.integer("blocksize", 1)}},
                        call.output_type()));
}

}  // namespace

void register_resize(Writers& writers);
void register_resize(Writers& writers) {
  for (const std::string_view op :
       {"onnxkit.channels_last::Resize1D", "onnxkit.channels_last::Resize2D", "onnxkit.channels_last::Resize3D"})
    writers.add(op, map_resize);
  writers.add("onnxkit.channels_last::DepthToSpace2D", map_depth_to_space);
  writers.add("onnxkit.channels_last::SpaceToDepth2D", map_space_to_depth);
}

}  // namespace onnxkit::to_tflite
