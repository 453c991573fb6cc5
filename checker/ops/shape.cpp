// Shape, Size: the sizes of a tensor as its content. From version 15 Shape may give the axes from `start` to `end` only; both are clamped.
#include <algorithm>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_shape(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape) {
    context.set_shape(0, {context.lost("the rank of the input is unknown")});
    return;
  }
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto clamped = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = clamped(context.integer("start", 0));
  const std::int64_t end = std::max(start, clamped(context.integer("end", rank)));
  const Shape part(shape->begin() + start, shape->begin() + end);
  context.set_shape(0, {end - start});
  context.set_value(0, Constant::vector(part));
}

void infer_size(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const Dim count = shape ? product(context, *shape) : Dim();
  context.set_shape(0, {});
  if (!count.is_unknown()) context.set_value(0, Constant::scalar(ElementType::int64, Scalar::integer(count)));
}

}  // namespace

void register_shape(InferRegistry& registry) {
  registry.add("Shape", all_versions(), infer_shape, {.reads_sizes_only = true});
  registry.add("Size", all_versions(), infer_size, {.reads_sizes_only = true});
}

}  // namespace onnxkit::checker
