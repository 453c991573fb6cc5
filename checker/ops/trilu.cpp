// Trilu: the upper or lower triangle of the last two axes.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

void infer_trilu(InferContext& context) {
  context.copy_shape(0, 0);
  rank_below(context, 0, 2);
  is_not_single(context, 1, "rank-mismatch");
}

}  // namespace

void register_trilu(InferRegistry& registry) { registry.add("Trilu", all_versions(), infer_trilu); }

}  // namespace onnxkit::checker
