// Random tensors: the shape is an attribute or that of an input, the element type an attribute, else the input's.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_shaped(InferContext& context) {
  set_elem_from_attribute(context, 0, "dtype", ElementType::float32);
  const auto sizes = context.integers("shape");
  if (!sizes) return;
  for (const std::int64_t size : *sizes) {
    if (size >= 0) continue;
    context.error({.code = "negative-size",
                   .at = at_attribute("shape"),
                   .message = "a size is negative",
                   .expected = "0 or more",
                   .found = std::to_string(size)});
    return;
  }
  context.set_shape(0, Shape(sizes->begin(), sizes->end()));
}

void infer_like(InferContext& context) {
  set_elem_from_attribute(context, 0, "dtype", context.input_elem(0));
  context.copy_shape(0, 0);
}

void infer_multinomial(InferContext& context) {
  set_elem_from_attribute(context, 0, "dtype", ElementType::int32);
  const std::int64_t samples = context.integer("sample_size", 1);
  if (samples < 1) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("sample_size"),
                   .message = "sample_size must be positive",
                   .expected = "1 or more",
                   .found = std::to_string(samples)});
    return;
  }
  if (rank_differs(context, 0, 2)) return;
  const Shape* probabilities = context.input_shape(0);
  context.set_shape(0, {probabilities ? probabilities->front() : Dim(), samples});
}

}  // namespace

void register_random(InferRegistry& registry) {
  registry.add("RandomNormal", all_versions(), infer_shaped, {.type_attributes = {"dtype"}});
  registry.add("RandomUniform", all_versions(), infer_shaped, {.type_attributes = {"dtype"}});
  for (const char* op : {"RandomNormalLike", "RandomUniformLike"})
    registry.add(op, all_versions(), infer_like, {.type_attributes = {"dtype"}});
  registry.add("Bernoulli", all_versions(), infer_like, {.inputs = {{0, Role::share}}, .type_attributes = {"dtype"}});
  registry.add("Multinomial", all_versions(), infer_multinomial, {.type_attributes = {"dtype"}});
}

}  // namespace onnxkit::checker
