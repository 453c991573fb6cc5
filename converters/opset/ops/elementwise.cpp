#include "converters/opset/element_types.h"
#include "converters/opset/steps.h"

namespace onnxkit::opset {

void register_elementwise(StepRegistry& registry) {
  const Way wider = compatible("more types are allowed");
  const Way without_bfloat16 = by_way_of(through_float32());

  registry.change({"Ceil", "Elu", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Reciprocal", "Relu", "Selu",
                   "Sigmoid", "Sqrt", "Tanh"},
                  6, drop_attribute("consumed_inputs"), compatible("consumed_inputs may be absent"));
  registry.change({"Abs", "Neg"}, 6, drop_attribute("consumed_inputs"), by_way_of(whole_through_float64()));
  registry.types({"Abs", "Ceil", "Erf", "Exp", "Floor", "IsNaN", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sign",
                  "Sqrt", "Tanh"},
                 {13});
  registry.change({"LeakyRelu"}, 16, wider, without_bfloat16);
  registry.change(
      {"Acos",      "Acosh", "Asin",  "Asinh", "Atan", "Atanh", "Cos",      "Cosh",     "Elu", "HardSigmoid",
       "HardSwish", "Mish",  "Round", "Selu",  "Sin",  "Sinh",  "Softplus", "Softsign", "Tan", "ThresholdedRelu"},
      22, wider, without_bfloat16);
}

}  // namespace onnxkit::opset
