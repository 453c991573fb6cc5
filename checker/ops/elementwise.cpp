// Operators that work element by element on one input: the output has its shape.
#include "checker/infer/infer_registry.h"
#include "checker/infer/scalar_math.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_same_elementwise(InferContext& context) { context.copy_shape(0, 0); }

/// Follows the content as well, for what occurs in shape arithmetic.
template <ScalarUnary fold>
void infer_folded_elementwise(InferContext& context) {
  context.copy_shape(0, 0);
  const Constant* value = context.input_value(0);
  if (!value) return;
  Constant result{.type = value->type, .shape = value->shape, .elements = {}};
  for (const Scalar& element : value->elements) result.elements.push_back(fold(context.dims(), element, value->type));
  context.set_value(0, std::move(result));
}

}  // namespace

void register_elementwise(InferRegistry& registry) {
  for (const char* op :
       {"Acos",      "Acosh",    "Asin",     "Asinh",      "Atan", "Atanh",       "BitwiseNot",     "Celu",    "Cos",
        "Cosh",      "Elu",      "Erf",      "Exp",        "Gelu", "HardSigmoid", "HardSwish",      "IsInf",   "IsNaN",
        "LeakyRelu", "Log",      "Mish",     "Reciprocal", "Relu", "Selu",        "Shrink",         "Sigmoid", "Sin",
        "Sinh",      "Softplus", "Softsign", "Swish",      "Tan",  "Tanh",        "ThresholdedRelu"}) {
    registry.add(op, all_versions(), infer_same_elementwise);
  }
  registry.add("Abs", all_versions(), infer_folded_elementwise<scalar_abs>);
  registry.add("Ceil", all_versions(), infer_folded_elementwise<scalar_ceil>);
  registry.add("Floor", all_versions(), infer_folded_elementwise<scalar_floor>);
  registry.add("Neg", all_versions(), infer_folded_elementwise<scalar_neg>);
  registry.add("Not", all_versions(), infer_folded_elementwise<scalar_not>);
  registry.add("Round", all_versions(), infer_folded_elementwise<scalar_round>);
  registry.add("Sign", all_versions(), infer_folded_elementwise<scalar_sign>);
  registry.add("Sqrt", all_versions(), infer_folded_elementwise<scalar_sqrt>);
}

}  // namespace onnxkit::checker
