// Compress: the slices along `axis`, or the elements of the flattened input, for which the condition is true.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

Dim kept(InferContext& context) {
  const auto condition = context.constant_integers(1);
  if (!condition) return context.data_dependent("compress", "the condition of Compress decides the size at run time");
  std::int64_t count = 0;
  for (const std::int64_t one : *condition) count += one != 0 ? 1 : 0;
  return count;
}

void check_length_compress(InferContext& context, Dim size) {
  const auto length = vector_length(context, 1);
  if (!length || !size.is_constant() || static_cast<std::int64_t>(*length) <= size.constant()) return;
  context.error({.code = "shape-mismatch",
                 .at = at_input(1),
                 .message = "the condition is longer than the axis that it selects from",
                 .expected = fmt::format("at most {} entries", size.constant()),
                 .found = fmt::format("{} entries", *length)});
}

void infer_compress(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (rank_differs(context, 1, 1)) return context.lose_shape(0, "the condition is not a vector");
  const auto stated = context.find_integer("axis");
  if (!stated) {
    if (shape) check_length_compress(context, product(context, *shape));
    return context.set_shape(0, {kept(context)});
  }
  if (!shape) return context.lose_shape(0, "the rank of the input is unknown");
  const auto axis = resolve_axis(context, *stated, shape->size(), at_attribute("axis"));
  if (!axis) return;
  check_length_compress(context, (*shape)[*axis]);
  Shape result = *shape;
  result[*axis] = kept(context);
  context.set_shape(0, std::move(result));
}

}  // namespace

void register_compress(InferRegistry& registry) {
  registry.add("Compress", all_versions(), infer_compress, {.inputs = {{1, Role::counted}}});
}

}  // namespace onnxkit::checker
