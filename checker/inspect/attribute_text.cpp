#include "checker/inspect/attribute_text.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "checker/infer/type.h"
#include "checker/inspect/tensor_summary.h"
#include "libonnxkit/base/text/text.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/element_type.h"

namespace onnxkit::checker {
namespace {

template <class Range, class Show>
std::string list_text(const Range& range, Show&& show) {
  constexpr std::size_t most = 8;
  std::string text = "[";
  std::size_t shown = 0;
  for (const auto& entry : range) {
    if (shown++ == most) return text + fmt::format(", ... {} in all]", range.size());
    text += (shown > 1 ? ", " : "") + show(entry);
  }
  return text + "]";
}

std::string tensor_text(const ir::Tensor& tensor) {
  TensorSummary summary = outline_of(tensor);
  constexpr std::uint64_t few = 8;
  if (summary.elements <= few) add_values(summary, tensor, {}, few, few);
  const std::string type = summary.type + list_text(tensor.dims, [](std::int64_t d) { return std::to_string(d); });
  return summary.values.empty() ? type : fmt::format("{} {{{}}}", type, fmt::join(summary.values, ", "));
}

/// As TensorProto.DataType calls the element type: FLOAT, INT64.
std::string data_type_text(std::int64_t number) {
  if (number < 0 || number >= element_type_count) return std::to_string(number);
  std::string text(name_of(static_cast<ElementType>(number)));
  for (char& letter : text) letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  return text;
}

bool holds_element_type(std::string_view attribute, const InferTraits& traits) {
  return std::any_of(traits.type_attributes.begin(), traits.type_attributes.end(),
                     [attribute](const char* name) { return name && attribute == name; });
}

std::string declared_type_text(const ir::DeclaredType& declared) {
  ir::DimPool dims;
  return to_string(from_declared(declared, dims, UnknownDim{}), dims);
}

}  // namespace

std::string attribute_text(const ir::Attribute& attribute, const InferTraits& traits) {
  const std::string name(attribute.name.view());
  if (!attribute.ref_attr_name.empty()) return fmt::format("{} = @{}", name, attribute.ref_attr_name.view());
  std::string value = "...";
  if (const auto* i = attribute.as<std::int64_t>())
    value = holds_element_type(name, traits) ? data_type_text(*i) : std::to_string(*i);
  if (const auto* f = attribute.as<float>()) value = fmt::format("{}", *f);
  if (const auto* s = attribute.as<Text>()) value = quote(*s, 60);
  if (const auto* ints = attribute.as<std::vector<std::int64_t>>())
    value = list_text(*ints, [](std::int64_t i) { return std::to_string(i); });
  if (const auto* floats = attribute.as<std::vector<float>>())
    value = list_text(*floats, [](float f) { return fmt::format("{}", f); });
  if (const auto* strings = attribute.as<std::vector<Text>>())
    value = list_text(*strings, [](const Text& s) { return quote(s, 30); });
  if (const ir::Tensor* tensor = attribute.tensor()) value = tensor_text(*tensor);
  if (const auto* type = attribute.as<std::unique_ptr<ir::DeclaredType>>(); type && *type)
    value = declared_type_text(**type);
  if (const ir::Graph* graph = attribute.graph())
    value = fmt::format("graph of {} node{}", graph->nodes.size(), graph->nodes.size() == 1 ? "" : "s");
  return fmt::format("{} = {}", name, value);
}

}  // namespace onnxkit::checker
