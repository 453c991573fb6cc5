#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

void with_broadcast(Step& step) { step.set({"broadcast", std::int64_t{1}}); }

/// One zero broadcasts to the product.
void with_zero(Step& step) {
  if (step.has_input(2)) return;
  step.set_input(2, step.number(step.need_elem(step.input(0)), 0, "zero"));
  step.note("a zero for C, which had to be there");
}

}  // namespace

void register_gemm(StepRegistry& registry) {
  const Way same = compatible("only the wording differs");
  registry.change({"Gemm"}, 6, same, same);
  registry.change({"Gemm"}, 7, adapt("C is broadcast anyway", [](Step& step) { step.remove("broadcast"); }),
                  adapt("broadcast is said", with_broadcast));
  registry.types({"Gemm"}, {9, 13});
  registry.change({"Gemm"}, 11, compatible("C may be left out"), adapt("C is written", with_zero));
}

}  // namespace onnxkit::opset
