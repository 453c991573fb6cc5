// Softmax, LogSoftmax, Hardmax: the output has the input's type and shape. Until version 11 `axis` splits the input into a matrix, from 13 on
// it is the one axis that is normalised.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_softmax(InferContext& context) {
  context.copy_shape(0, 0);
  if (const auto rank = context.input_rank(0); rank && (*rank > 0 || context.has_attribute("axis"))) {
    resolve_axis(context, context.integer("axis"), *rank, at_attribute("axis"));
  }
}

}  // namespace

void register_softmax(InferRegistry& registry) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) registry.add(op, all_versions(), infer_softmax);
}

}  // namespace onnxkit::checker
