// Names and texts are UTF-8, as protobuf demands of string fields; other tools fail on them in their own ways.
#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "libonnxkit/base/text/utf8.h"

namespace onnxkit::checker {
namespace {

void check_text(RuleContext& context, std::string_view text, std::string_view what, auto&& location) {
  const std::size_t at = find_invalid_utf8(text);
  if (at == std::string_view::npos) return;
  context.error("invalid-utf8", location(), fmt::format("the {} is not valid UTF-8 at byte {}", what, at), "UTF-8",
                quote(text));
}

void check_entries(RuleContext& context, const std::vector<ir::StringEntry>& entries, auto&& location) {
  for (const ir::StringEntry& entry : entries) {
    check_text(context, entry.key, "metadata key", location);
    check_text(context, entry.value, "metadata value", location);
  }
}

void check_graph(RuleContext& context, const ir::GraphScope& scope) {
  const ir::Graph& graph = *scope.graph;
  const auto here = [&] { return context.at(scope); };
  check_text(context, graph.name, "graph name", here);
  check_text(context, graph.doc_string, "doc_string", here);
  check_entries(context, graph.metadata_props, here);
  for (const ir::Value& value : graph.values) check_text(context, value.name, "name of a value", here);
  for (const auto* infos : {&graph.inputs, &graph.outputs, &graph.value_infos}) {
    for (const ir::ValueInfo& info : *infos) {
      check_text(context, info.doc_string, "doc_string", here);
      if (!info.type || !info.type->shape) continue;
      for (const ir::DeclaredDim& dim : info.type->shape->dims)
        check_text(context, dim.param, "name of a dimension", here);
    }
  }
  for (const ir::Tensor& tensor : graph.initializers) {
    check_text(context, tensor.doc_string, "doc_string", [&] { return context.at(scope, "initializer", tensor.name); });
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    const auto at_node = [&] { return context.at(scope, n); };
    check_text(context, node.op_type, "operator", at_node);
    check_text(context, node.name, "node name", at_node);
    check_text(context, node.domain, "domain", at_node);
    check_text(context, node.overload, "overload", at_node);
    check_text(context, node.doc_string, "doc_string", at_node);
    check_entries(context, node.metadata_props, at_node);
    for (const ir::Attribute& attribute : node.attributes) {
      check_text(context, attribute.name, "attribute name", at_node);
      check_text(context, attribute.ref_attr_name, "reference", at_node);
      check_text(context, attribute.doc_string, "doc_string", at_node);
    }
  }
}

void check_utf8(RuleContext& context) {
  const ir::Model& model = context.model;
  const auto at_model = [&] { return context.at_model(); };
  check_text(context, model.producer_name, "producer name", at_model);
  check_text(context, model.producer_version, "producer version", at_model);
  check_text(context, model.domain, "domain", at_model);
  check_text(context, model.doc_string, "doc_string", at_model);
  check_entries(context, model.metadata_props, at_model);
  for (const ir::OpsetImport& import : model.opset_imports)
    check_text(context, import.domain, "domain of an import", at_model);
  for (const ir::Function& function : model.functions) {
    const auto here = [&] { return context.at_function(function); };
    check_text(context, function.name, "function name", here);
    check_text(context, function.domain, "domain", here);
    check_text(context, function.overload, "overload", here);
    check_text(context, function.doc_string, "doc_string", here);
    for (const Text& attribute : function.attributes) check_text(context, attribute, "attribute name", here);
  }
  for (const auto& scope : context.scopes) check_graph(context, *scope);
}

}  // namespace

void register_utf8(RuleRegistry& registry) { registry.add(Stage::structure, check_utf8); }

}  // namespace onnxkit::checker
