// SwiGLU: Swish(A) * B, element by element without broadcasting.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_swiglu(InferContext& context) {
  const Shape* a = context.input_shape(0);
  const Shape* b = context.input_shape(1);
  if (a) require_shape(context, 1, *a, "gate and value must have the same shape");
  if (a || b) context.set_shape(0, a ? *a : *b);
}

}  // namespace

void register_swiglu(InferRegistry& registry) { registry.add("SwiGLU", all_versions(), infer_swiglu); }

}  // namespace onnxkit::checker
