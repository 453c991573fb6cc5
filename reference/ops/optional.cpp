// Optional values. From version 18 on OptionalHasElement and OptionalGetElement take plain tensors and sequences too, and the former no input
// at all.
#include "reference/executor/kernel.h"

namespace onnxkit::reference {
namespace {

/// The element type of the tensors inside.
ElementType inner_type(const ir::DeclaredType* type) {
  for (; type; type = type->element.get()) {
    if (type->elem_type && is_known_element_type(*type->elem_type)) return static_cast<ElementType>(*type->elem_type);
  }
  return ElementType::undefined;
}

void optional(KernelContext& context) {
  if (context.has_input(0))
    context.set_output(0, Value::optional(context.value(0)));
  else
    context.set_output(0, Value::optional(std::nullopt, inner_type(context.type_proto("type"))));
}

void has_element(KernelContext& context) {
  const bool has =
      context.has_input(0) && (context.value(0).kind != ValueKind::optional || !context.value(0).items.empty());
  context.set_output(0, context.scalar(ElementType::boolean, has ? 1 : 0));
}

void get_element(KernelContext& context) {
  const Value& value = context.value(0);
  if (value.kind != ValueKind::optional) return context.set_output(0, value);
  require(!value.items.empty(), "the optional is empty");
  context.set_output(0, value.items.front());
}

}  // namespace

void register_optional(KernelRegistry& registry) {
  registry.add("Optional", all_versions(), optional, {.noise = noise::moved});
  registry.add("OptionalHasElement", all_versions(), has_element);
  registry.add("OptionalGetElement", all_versions(), get_element, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
