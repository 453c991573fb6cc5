// Images of other sizes, with channels last, and blocks of pixels as channels.
#include "converters/foreign/tensorflow_family/resize.h"
#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

using foreign::Sampling;

/// Along an axis the product with a matrix of weights.
ValueId interpolated(WriteCall& call, ValueId x, std::size_t axis, const Sampling& sampling,
                     const std::vector<double>& weights) {
  const std::size_t rank = rank_of(call, x);
  Type type = call.type_of(x);
  (*type.shape)[axis] = Dim(sampling.out);
  std::string letters;
  for (std::size_t a = 0; a < rank; ++a) letters += static_cast<char>('a' + a);
  std::string wanted = letters;
  wanted[axis] = 'z';
  const std::string equation = letters + ",z" + letters[axis] + "->" + wanted;
  const ValueId matrix_of_weights =
      call.reals_tensor(call.type_of(x).elem, {sampling.out, sampling.in}, std::span<const double>(weights));
  return call.emit("Einsum",
                   {{"inputs", std::vector<ValueId>{x, matrix_of_weights}}, {"equation", call.keep(equation)}},
                   std::move(type));
}

void map_resize(WriteCall& call) {
  if (!has_coordinates(call) || (call.text("mode", "nearest") != "nearest" && !is_real(call))) return;
  write_resize(call, interpolated);
}

void map_depth_to_space(WriteCall& call) {
  call.integer("blocksize", 1) == 1 ? call.result(call.input(0)) : write_depth_to_space(call);
}

void map_space_to_depth(WriteCall& call) {
  call.integer("blocksize", 1) == 1 ? call.result(call.input(0)) : write_space_to_depth(call);
}

}  // namespace

void register_space(Writers& writers);
void register_space(Writers& writers) {
  writers.add({"onnxkit.channels_last::Resize1D", "onnxkit.channels_last::Resize2D", "onnxkit.channels_last::Resize3D"},
              map_resize);
  writers.add("onnxkit.channels_last::DepthToSpace2D", map_depth_to_space);
  writers.add("onnxkit.channels_last::SpaceToDepth2D", map_space_to_depth);
}

}  // namespace onnxkit::to_tensorflow
