// Unique: without `axis` the distinct elements of the flattened tensor, with it the distinct slices along that axis; how many depends on
// data.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_unique(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const Dim count = context.data_dependent("unique", "the number of distinct entries decides the size at run time");
  context.set_shape(1, {count});
  context.set_shape(3, {count});
  const auto stated = context.find_integer("axis");
  if (!stated) {
    context.set_shape(0, {count});
    return context.set_shape(2, {shape ? product(context, *shape) : Dim()});
  }
  context.set_shape(2, Shape(1));
  if (!shape) return context.lose_shape(0, "the rank of the input is unknown");
  const auto axis = resolve_axis(context, *stated, shape->size(), at_attribute("axis"));
  if (!axis) return;
  Shape result = *shape;
  result[*axis] = count;
  context.set_shape(0, std::move(result));
  context.set_shape(2, {(*shape)[*axis]});
}

}  // namespace

void register_unique(InferRegistry& registry) { registry.add("Unique", all_versions(), infer_unique); }

}  // namespace onnxkit::checker
