#include "checker/rule_registry.h"

#include <fmt/format.h>

#include "libonnxkit/ir/order.h"

namespace onnxkit::checker {

void register_all_rules(RuleRegistry& registry);

namespace {

using Sites = std::vector<std::unique_ptr<GraphSite>>;

void add_site(Sites& sites, GraphSite site) {
  sites.push_back(std::make_unique<GraphSite>(std::move(site)));
  const GraphSite& own = *sites.back();
  for (std::size_t node = 0; node < own.graph->nodes.size(); ++node) {
    ir::for_each_subgraph(own.graph->nodes[node], [&](const ir::Graph& inner, std::size_t attribute) {
      GraphSite child{.graph = &inner,
                      .parent = &own,
                      .parent_node = node,
                      .function = own.function,
                      .opsets = own.opsets,
                      .scope = own.scope,
                      .is_training = own.is_training};
      child.scope.push_back(fmt::format("node {}", node));
      child.scope.emplace_back(own.graph->nodes[node].attributes[attribute].name.view());
      add_site(sites, std::move(child));
    });
  }
}

Diagnostic make(std::string_view code, Severity severity, Place place, std::string message, std::string expected,
                std::string found, std::string help) {
  return {.code = std::string(code),
          .severity = severity,
          .place = std::move(place),
          .message = std::move(message),
          .expected = std::move(expected),
          .found = std::move(found),
          .notes = {},
          .help = std::move(help)};
}

}  // namespace

std::string scope_path(std::span<const std::string> scope) { return fmt::format("{}", fmt::join(scope, " / ")); }

std::string function_step(const ir::Function& function) {
  return fmt::format("function {}{}{}", function.domain.view(),
                     function.domain.empty() ? "" : "::", function.name.view());
}

std::string qualified_op(const ir::Node& node) {
  const std::string_view domain = spec::canonical_domain(node.domain);
  return domain.empty() ? std::string(node.op_type) : fmt::format("{}::{}", domain, node.op_type.view());
}

Sites graph_sites(const ir::Model& model) {
  Sites sites;
  const auto add_outermost = [&](const ir::Graph* graph, std::string name, bool training) {
    if (!graph) return;
    add_site(sites, {.graph = graph,
                     .parent = nullptr,
                     .parent_node = 0,
                     .function = nullptr,
                     .opsets = model.opset_imports,
                     .scope = {std::move(name)},
                     .is_training = training});
  };
  add_outermost(model.graph.get(), "main", false);
  for (const ir::Function& function : model.functions) {
    add_site(sites, {.graph = &function.body,
                     .parent = nullptr,
                     .parent_node = 0,
                     .function = &function,
                     .opsets = function.opset_imports,
                     .scope = {function_step(function)},
                     .is_training = false});
  }
  for (std::size_t i = 0; i < model.training_infos.size(); ++i) {
    add_outermost(model.training_infos[i].initialization.get(), fmt::format("training_info {} initialization", i),
                  true);
    add_outermost(model.training_infos[i].algorithm.get(), fmt::format("training_info {} algorithm", i), true);
  }
  return sites;
}

std::optional<std::int64_t> opset_at(const GraphSite& site, std::string_view domain) {
  for (const ir::OpsetImport& import : site.opsets) {
    if (spec::canonical_domain(import.domain) == spec::canonical_domain(domain)) return import.version;
  }
  return std::nullopt;
}

Place RuleContext::at(const GraphSite& site) const {
  Place place = at_model();
  place.scope = site.scope;
  return place;
}

Place place_of_node(std::vector<std::string> scope, const ir::Graph& graph, std::size_t node) {
  Place place;
  place.scope = std::move(scope);
  place.node = node;
  place.node_name = graph.nodes[node].name;
  place.op = qualified_op(graph.nodes[node]);
  return place;
}

Place RuleContext::at(const GraphSite& site, std::size_t node) const {
  Place place = place_of_node(site.scope, *site.graph, node);
  place.file = model.path.string();
  return place;
}

Place RuleContext::at(const GraphSite& site, std::string item, std::string_view name) const {
  Place place = at(site);
  place.item = std::move(item);
  place.item_name = name;
  return place;
}

Place RuleContext::at(const GraphSite& site, std::size_t node, std::string item, std::string_view name) const {
  Place place = at(site, node);
  place.item = std::move(item);
  place.item_name = name;
  return place;
}

Place RuleContext::at_model(std::string item, std::string_view name) const {
  Place place;
  place.file = model.path.string();
  place.item = std::move(item);
  place.item_name = name;
  return place;
}

Place RuleContext::at_function(const ir::Function& function, std::string item, std::string_view name) const {
  Place place = at_model(std::move(item), name);
  place.scope = {function_step(function)};
  return place;
}

void RuleContext::error(std::string_view code, Place place, std::string message, std::string expected,
                        std::string found, std::string help) {
  sink.add(make(code, Severity::error, std::move(place), std::move(message), std::move(expected), std::move(found),
                std::move(help)));
}

void RuleContext::warning(std::string_view code, Place place, std::string message, std::string expected,
                          std::string found, std::string help) {
  sink.add(make(code, Severity::warning, std::move(place), std::move(message), std::move(expected), std::move(found),
                std::move(help)));
}

void RuleContext::info(std::string_view code, Place place, std::string message, std::string expected, std::string found,
                       std::string help) {
  sink.add(make(code, Severity::info, std::move(place), std::move(message), std::move(expected), std::move(found),
                std::move(help)));
}

const RuleRegistry& rule_registry() {
  static const RuleRegistry registry = [] {
    RuleRegistry all;
    register_all_rules(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::checker
