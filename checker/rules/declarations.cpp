// What graphs declare of their values: inputs and outputs have types, sizes are not negative, a default value fits its input.
#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::checker {
namespace {

/// The least negative size anywhere inside a type.
std::optional<std::int64_t> negative_size(const ir::DeclaredType& type) {
  std::optional<std::int64_t> least = type.element ? negative_size(*type.element) : std::nullopt;
  if (!type.shape) return least;
  for (const ir::DeclaredDim& dim : type.shape->dims)
    if (dim.value && *dim.value < std::min<std::int64_t>(least.value_or(0), 0)) least = *dim.value;
  return least;
}

/// An element type number that means nothing, anywhere inside a type.
std::optional<std::int32_t> unknown_element(const ir::DeclaredType& type) {
  using Kind = ir::DeclaredType::Kind;
  if ((type.kind == Kind::tensor || type.kind == Kind::sparse_tensor) &&
      !is_known_element_type(type.elem_type.value_or(0))) {
    return type.elem_type.value_or(0);
  }
  if (type.kind == Kind::map && !is_known_element_type(type.key_type.value_or(0))) return type.key_type.value_or(0);
  return type.element ? unknown_element(*type.element) : std::nullopt;
}

/// A key that is neither an integer nor a string.
std::optional<ElementType> impossible_key(const ir::DeclaredType& type) {
  if (type.kind == ir::DeclaredType::Kind::map && is_known_element_type(type.key_type.value_or(0))) {
    const auto key = static_cast<ElementType>(*type.key_type);
    if (!is_integer(key) && key != ElementType::string) return key;
  }
  return type.element ? impossible_key(*type.element) : std::nullopt;
}

void check_type(RuleContext& context, const ir::GraphScope& scope, const ir::ValueInfo& info, const char* item,
                bool required) {
  const std::string_view name = scope.graph->name_of(info.value);
  const Location location = context.at(scope, item, name);
  if (!info.type || info.type->kind == ir::DeclaredType::Kind::none) {
    if (required) context.error("missing-type", location, fmt::format("{} has no type", quote(name)), "a type");
    return;
  }
  if (const auto size = negative_size(*info.type)) {
    constexpr const char *expected = "0 or more, a name, or nothing", *help = "leave the size out if it is unknown";
    if (*size == -1)  // runtimes take it as open, and exporters write it so
      context.warning("declared-shape", location, "a declared size is -1, which is taken as open", expected, "-1",
                      help);
    else
      context.error("declared-shape", location, "a declared size is negative", expected, std::to_string(*size));
  }
  if (const auto key = impossible_key(*info.type)) {
    context.error("declared-type", location, "map keys must be integers or strings", "an integer type or string",
                  std::string(name_of(*key)));
  }
  if (const auto number = unknown_element(*info.type)) {
    context.error(*number == 0 ? "missing-type" : "declared-type", location,
                  *number == 0 ? "the element type is UNDEFINED" : "no element type has this number",
                  "a TensorProto.DataType", std::to_string(*number));
  }
}

/// An initializer of an input's name is its default value, so it has to fit.
void check_default(RuleContext& context, const ir::GraphScope& scope, const ir::ValueInfo& input,
                   const ir::Tensor& tensor) {
  const Location location = context.at(scope, "initializer", tensor.name);
  if (input.type->elem_type && tensor.data_type && *input.type->elem_type != *tensor.data_type) {
    context.error("declared-type", location, "the initializer and the input of the same name have different types",
                  std::string(name_of(static_cast<ElementType>(*input.type->elem_type))),
                  std::string(name_of(ir::element_type_of(tensor))));
  }
  if (!input.type->shape) return;
  const auto& declared = input.type->shape->dims;
  bool fits = declared.size() == tensor.dims.size();
  for (std::size_t i = 0; fits && i < declared.size(); ++i)
    fits = declared[i].size().value_or(tensor.dims[i]) == tensor.dims[i];
  if (!fits)
    context.error("declared-shape", location, "the initializer and the input of the same name have different shapes");
}

void check_defaults(RuleContext& context, const ir::GraphScope& scope) {
  std::unordered_map<ir::ValueId, const ir::ValueInfo*> inputs;
  for (const ir::ValueInfo& input : scope.graph->inputs) inputs.emplace(input.value, &input);
  for (const ir::Tensor& tensor : scope.graph->initializers) {
    const auto found = inputs.find(scope.graph->find(tensor.name));
    if (found != inputs.end() && found->second->type) check_default(context, scope, *found->second, tensor);
  }
}
void check_declarations(RuleContext& context) {
  for (const auto& scope : context.scopes) {
    const bool is_main = !scope->parent && !scope->function;
    for (const ir::ValueInfo& input : scope->graph->inputs) check_type(context, *scope, input, "input", is_main);
    for (const ir::ValueInfo& output : scope->graph->outputs) check_type(context, *scope, output, "output", is_main);
    for (const ir::ValueInfo& info : scope->graph->value_infos) check_type(context, *scope, info, "value", false);
    if (!scope->graph->inputs.empty() && !scope->graph->initializers.empty()) check_defaults(context, *scope);
  }
}

}  // namespace

void register_declarations(RuleRegistry& registry) { registry.add(Stage::structure, check_declarations); }

}  // namespace onnxkit::checker
