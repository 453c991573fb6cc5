// Dropout: result and mask have the input's shape. The ratio is an attribute until version 10, an input from 12 on.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_1_dropout(InferContext& context) {
  context.copy_shape(0, 0);
  context.copy_shape(0, 1);
}

void infer_12(InferContext& context) {
  infer_1_dropout(context);
  require_single_element(context, 1, "the ratio must be a scalar");
  require_single_element(context, 2, "training_mode must be a scalar");
  context.input_value(2);  // so that the info have it
  const auto ratio = context.constant_reals(1);
  if (!ratio || ratio->size() != 1 || (ratio->front() >= 0 && ratio->front() < 1)) return;
  context.error({.code = "input-value",
                 .at = at_input(1),
                 .message = "the ratio is outside [0, 1)",
                 .expected = "0 or more and less than 1",
                 .found = fmt::format("{}", ratio->front())});
}

}  // namespace

void register_dropout(InferRegistry& registry) {
  registry.add("Dropout", versions(1, 11), infer_1_dropout, {.inputs = {{0, Role::moved}}});
  registry.add("Dropout", since(12), infer_12,
               {.inputs = {{0, Role::moved}, {1, Role::share}}, .training = {.input = 2}});
}

}  // namespace onnxkit::checker
