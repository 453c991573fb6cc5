// Det: one determinant for each of the square matrices in the last two axes.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_det(InferContext& context) {
  if (rank_below(context, 0, 2)) return;
  const Shape* x = context.input_shape(0);
  if (!x) return;
  Shape square = *x;
  square.back() = square[square.size() - 2];
  require_shape(context, 0, square, "only square matrices have a determinant");
  context.set_shape(0, Shape(x->begin(), x->end() - 2));
}

}  // namespace

void register_det(InferRegistry& registry) { registry.add("Det", all_versions(), infer_det); }

}  // namespace onnxkit::checker
