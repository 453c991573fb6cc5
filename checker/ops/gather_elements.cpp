// GatherElements: the output has the indices' shape; an index replaces the position along `axis`, the other positions are its own.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/index_rules.h"

namespace onnxkit::checker {
namespace {

void infer_gather_elements(InferContext& context) {
  context.lose_shape(0, "the rank of the indices is unknown");
  const auto axis = check_element_indices(context);
  context.copy_shape(1, 0);
  const Constant* data = movable_value(context, 0);
  const Constant* indices = movable_value(context, 1);
  if (!axis || !data || !indices) return;
  const std::int64_t limit = data->shape[*axis];
  set_picked(context, data->type, [&](std::span<const std::int64_t> at) {
    const Dim index = indices->elements[flat_index(indices->shape, at)].dim();
    if (!index.is_constant() || index.constant() < -limit || index.constant() >= limit) return Scalar();
    std::vector<std::int64_t> source(at.begin(), at.end());
    source[*axis] = index.constant() < 0 ? index.constant() + limit : index.constant();
    return data->elements[flat_index(data->shape, source)];
  });
}

}  // namespace

void register_gather_elements(InferRegistry& registry) {
  registry.add("GatherElements", all_versions(), infer_gather_elements, {.inputs = {{1, Role::index}}});
}

}  // namespace onnxkit::checker
