// Trilu: the upper or lower triangle of the last two axes.
#include "checker/infer_registry.h"
#include "checker/shape_rules.h"
#include "checker/value_moves.h"

namespace onnxkit::checker {
namespace {

void infer(InferContext& context) {
  context.copy_shape(0, 0);
  rank_below(context, 0, 2);
  is_not_single(context, 1, "rank-mismatch");
}

}  // namespace

void register_trilu(InferRegistry& registry) { registry.add("Trilu", all_versions(), infer); }

}  // namespace onnxkit::checker
