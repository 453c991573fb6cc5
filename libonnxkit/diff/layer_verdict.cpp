#include "libonnxkit/diff/layer_verdict.h"

#include "libonnxkit/compare/metrics/metrics.h"
#include "libonnxkit/diff/single_node.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::diffing {

std::optional<FloorMeasure> measured(const comparison::TensorVerdict& tensor_verdict) {
  const bool is_known = tensor_verdict.floor.healthy || tensor_verdict.floor.largest > 0;
  return is_known ? std::optional(tensor_verdict.floor) : std::nullopt;
}

LayerVerdict layer_verdict(const ir::Graph& graph, std::size_t node, std::string_view name, const exec::Spread& spread,
                           const Value& got, Profile profile) {
  LayerVerdict found;
  LayerDiff& layer = found.layer;
  layer.value = name;
  layer.location = ir::location_of_node({"main"}, graph, node);
  layer.type = type_text(got);
  if (!spread.exact.is_tensor() || !got.is_tensor()) return found;
  const comparison::TensorVerdict tensor_verdict = comparison::verdict_of(spread, got.tensor, profile);
  layer.verdict = tensor_verdict.verdict;
  layer.total = measured(tensor_verdict);
  found.in_doubt = tensor_verdict.in_doubt;
  const auto exact = as_stored(spread);
  if (!exact || !exact->is_tensor()) return found;
  if (auto metrics = comparison::compare(exact->tensor, got.tensor)) layer.metrics = *std::move(metrics);
  return found;
}

}  // namespace onnxkit::diffing
