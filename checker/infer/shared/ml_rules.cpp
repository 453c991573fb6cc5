#include "checker/infer/shared/ml_rules.h"

#include <fmt/core.h>

#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::checker {

Features features_of(InferContext& context, std::size_t input) {
  const Shape* shape = context.input_shape(input);
  if (!shape) return {};
  if (shape->size() == 1) return {1, shape->front()};
  if (shape->size() == 2) return {shape->front(), shape->back()};
  context.error({.code = "rank-mismatch",
                 .at = at_input(input),
                 .message = fmt::format("{} takes one row of features, or several", context.schema().name),
                 .expected = "[C] or [N, C]",
                 .found = context.text(*shape)});
  return {};
}

std::string_view one_attribute(InferContext& context, std::initializer_list<std::string_view> names, bool required) {
  std::string_view found;
  std::string list;
  for (const std::string_view name : names) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
    if (!context.has_attribute(name)) continue;
    if (!found.empty()) {
      context.error({.code = "exclusive-attributes",
                     .at = at_node(),
                     .message = fmt::format("{} and {} are mutually exclusive", found, name),
                     .expected = "exactly one of the two"});
      return {};
    }
    found = name;
  }
  if (found.empty() && required) {
    context.error({.code = "missing-attribute",
                   .at = at_node(),
                   .message = "one of several attributes is required",
                   .expected = list,
                   .found = "none"});
  }
  return found;
}

std::optional<std::size_t> attribute_length(InferContext& context, std::string_view name) {
  const ir::Attribute* attribute = context.attribute(name);
  if (!attribute || spec::counts_as_absent(*attribute, context.schema().find_attribute(name))) return std::nullopt;
  if (attribute->payload.index() == 0) return 0;
  if (const auto* list = attribute->as<std::vector<std::int64_t>>()) return list->size();
  if (const auto* list = attribute->as<std::vector<float>>()) return list->size();
  if (const auto* list = attribute->as<std::vector<Text>>()) return list->size();
  if (const ir::Tensor* tensor = attribute->tensor()) {
    if (const auto count = ir::element_count(*tensor)) return static_cast<std::size_t>(*count);
  }
  return std::nullopt;
}

void one_or_each(InferContext& context, std::string_view name, Dim columns) {
  const auto length = attribute_length(context, name);
  if (!length || *length == 1) return;
  const Dim given = static_cast<std::int64_t>(*length);
  if (!context.sizes_clash(given, columns)) return;
  context.error({.code = "shape-mismatch",
                 .at = at_attribute(name),
                 .message = fmt::format("{} has one entry for all features, or one per feature", name),
                 .expected = fmt::format("1 or {}", context.text(columns)),
                 .found = context.text(given)});
}

}  // namespace onnxkit::checker
