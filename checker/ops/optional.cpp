// Optional values. From version 18 on OptionalHasElement and OptionalGetElement take plain tensors and sequences too.
#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_optional(InferContext& context) {
  if (const Type* element = context.input_type(0)) return context.set_type(0, Type::optional(*element));
  if (const ir::DeclaredType* declared = context.type_proto("type")) {
    return context.set_type(0, Type::optional(from_declared(*declared, context.dims(), UnknownDim{})));
  }
  if (!context.has_input(0) && !context.has_attribute("type")) {
    context.error({.code = "missing-attribute",
                   .at = at_node(),
                   .message = "an Optional without a value requires attribute type",
                   .expected = "attribute type, or an input"});
  }
}

void infer_has_element(InferContext& context) {
  const Type* type = context.input_type(0);
  context.set_tensor(0, ElementType::boolean, {});
  const bool never = !context.has_input(0);
  const bool always = type && type->kind != Type::Kind::optional;
  if (never || always) context.set_value(0, Constant::scalar(ElementType::boolean, Scalar::integer(always ? 1 : 0)));
}

void infer_get_element(InferContext& context) {
  const Type* type = context.input_type(0);
  if (!type) return;
  Type element = type->kind == Type::Kind::optional ? (type->element ? *type->element : Type()) : *type;
  context.lose_shape(0, "the optional does not declare the shape of its value");
  context.set_type(0, std::move(element));
}

}  // namespace

void register_optional(InferRegistry& registry) {
  registry.add("Optional", all_versions(), infer_optional);
  registry.add("OptionalHasElement", all_versions(), infer_has_element);
  registry.add("OptionalGetElement", all_versions(), infer_get_element);
}

}  // namespace onnxkit::checker
