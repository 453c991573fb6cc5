// Images of other sizes, with channels last, and blocks of pixels as channels.
#include "converters/foreign/tensorflow_family/resize.h"
#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

using foreign::Sampling;

/// Along each axis the product with a matrix of weights.
ValueId interpolated(WriteCall& call, ValueId x, std::size_t axis, const Sampling& sampling,
                     const std::vector<double>& weights) {
  const std::size_t rank = rank_of(call, x);
  const Ints order = swapped_axes(rank, axis, rank - 1);
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

void map_resize(WriteCall& call) {
  if (!has_coordinates(call)) return;
  if (call.elem(0) != ElementType::float32 && call.text("mode", "nearest") != "nearest")
    return call.refuse("it interpolates other elements than float32");
  write_resize(call, interpolated);
}

}  // namespace

void register_resize(Writers& writers);
void register_resize(Writers& writers) {
  writers.add({"onnxkit.channels_last::Resize1D", "onnxkit.channels_last::Resize2D", "onnxkit.channels_last::Resize3D"},
              map_resize);
  writers.add("onnxkit.channels_last::DepthToSpace2D", write_depth_to_space);
  writers.add("onnxkit.channels_last::SpaceToDepth2D", write_space_to_depth);
}

}  // namespace onnxkit::to_tflite
