// com.microsoft TorchEmbedding: the rows of a table that indices name.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_torch_embedding(InferContext& context) {
  if (rank_differs(context, 0, 2)) return;
  const Shape *table = context.input_shape(0), *indices = context.input_shape(1);
  if (!table || !indices) return;
  Shape shape = *indices;
  shape.push_back(table->back());
  context.set_shape(0, shape);
}

}  // namespace

void register_torch_embedding(InferRegistry& registry) {
  registry.add("com.microsoft", "TorchEmbedding", all_versions(), infer_torch_embedding);
}

}  // namespace onnxkit::checker
