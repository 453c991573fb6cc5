// MaxUnpool: values scattered over zeros.
#include "libonnxkit/plan/images.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// The sizes of the image that was pooled, which the indices count within; nothing where they do not fit.
std::optional<Dims> pooled_image(LowerCall& call) {
  const Dims& x = call.input_dims(0);
  const Window window = window_geometry(call, *call.integers("kernel_shape"));
  if (window.kernel.size() + 2 != x.size()) return std::nullopt;
  Dims dims = {x[0], x[1]};
  for (std::size_t axis = 0; axis + 2 < x.size(); ++axis)
    dims.push_back((x[axis + 2] - 1) * window.strides[axis] + window.kernel[axis] - window.pads[axis] -
                   window.pads[axis + x.size() - 2]);
  const Dims out = call.output_dims(0);
  if (out.size() != dims.size()) return std::nullopt;
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    if (axis < 2 ? out[axis] != dims[axis] : out[axis] < dims[axis]) return std::nullopt;
  return dims;
}

/// The place in the output of each index; behind its elements for an index outside of the image, where the scatter ends the run.
View unpooled_places(LowerCall& call, const Dims& image) {
  const Dims out = call.output_dims(0);
  const View indices = call.contiguous(call.input(1));
  const Dims inner = row_major_strides(image), outer = row_major_strides(out);
  Expression e;
  const Number index = e.input(0, Lane::i64);
  Number place = index;
  if (image != out) {
    place = e.integer(0);
    for (std::size_t axis = 0; axis < image.size(); ++axis) {
      const Number at =
          e.apply(Operation::modulo, e.apply(Operation::divide, index, e.integer(inner[axis])), e.integer(image[axis]));
      place = e.apply(Operation::add, place, e.apply(Operation::multiply, at, e.integer(outer[axis])));
    }
  }
  const Number is_inside = is_among(e, index, element_count(image));
  e.apply(Operation::select, is_inside, place, e.integer(element_count(out)));
  return mapped(call, e, {reshaped(indices, {indices.size()})}, ElementType::int64, {indices.size()});
}

Unlowered lower_max_unpool(LowerCall& call) {
  const View& x = call.input(0);
  if (!has_lane(x.type)) return "elements cannot be computed";
  if (x.rank() < 3 || x.size() == 0 || call.input_dims(1) != x.dims) return "operands of other forms";
  const auto image = pooled_image(call);
  if (!image || element_count(*image) == 0) return "operands of other forms";
  const std::int64_t count = element_count(call.output_dims(0));
  const View zeros = call.make(x.type, {count, 1}), result = call.make(x.type, {count, 1});
  fill(call, zeros, 0);
  const View places = unpooled_places(call, *image);
  call.emit(scatter_step, {zeros, places, reshaped(call.contiguous(x), {x.size(), 1})}, {result}, ScatterParameters());
  give(call, result);
  return std::nullopt;
}

}  // namespace

void register_max_unpool(LoweringRegistry& registry);
void register_max_unpool(LoweringRegistry& registry) { registry.add("MaxUnpool", all_versions(), lower_max_unpool); }

}  // namespace onnxkit::plan
