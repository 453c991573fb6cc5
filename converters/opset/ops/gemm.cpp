#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

void with_broadcast(Step& step) { step.set({"broadcast", std::int64_t{1}}); }

/// One zero broadcasts to the product.
void with_zero(Step& step) {
  if (step.has_input(2)) return;
  step.set_input(2, step.number(step.need_elem(step.input(0)), 0, "zero"));
  step.note("added a zero C, which was required");
}

}  // namespace

void register_gemm(StepRegistry& registry) {
  const Way same = compatible("only the specification text differs");
  registry.change({"Gemm"}, 6, same, same);
  registry.change({"Gemm"}, 7, adapt("C always broadcasts", [](Step& step) { step.remove("broadcast"); }),
                  adapt("attribute broadcast is set", with_broadcast));
  registry.types({"Gemm"}, {9, 13});
  registry.change({"Gemm"}, 11, compatible("C may be omitted"), adapt("C is written out", with_zero));
}

}  // namespace onnxkit::opset
