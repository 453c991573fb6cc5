#include "libonnxkit/plan/places.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/ir/scope.h"

namespace onnxkit::plan {
namespace {

constexpr std::string_view output_prefix = "output ";

/// The nodes that a step computes. A node without a name goes by what it writes, which may be an output that the step writes, too.
std::vector<std::string> nodes_of(const Step& step) {
  const auto is_known = [&](std::string_view name) {
    return std::find(step.nodes.begin(), step.nodes.end(), name) != step.nodes.end();
  };
  std::vector<std::string> names;
  for (const std::string& node : step.nodes) {
    const std::string_view name = node;
    if (!name.starts_with(output_prefix) || !is_known(name.substr(output_prefix.size()))) names.push_back(node);
  }
  return names;
}

bool is_named(const Error& error) {
  const Location& location = error.diagnostic.location;
  return location.scope.empty() && !location.node_name.empty();
}

bool has_name(const ir::Graph& graph, const ir::Node& node, std::string_view name) {
  if (node.name.view() == name) return true;
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ir::ValueId id) { return id != ir::ValueId::none && graph.name_of(id) == name; });
}

/// The only node of that name, and of that operator where several have the name.
std::optional<Location> place_of(const ir::Model& model, std::string_view name, std::string_view op) {
  std::vector<Location> places;
  for (const auto& scope : ir::graph_scopes(model)) {
    for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) {
      if (has_name(*scope->graph, scope->graph->nodes[n], name))
        places.push_back(ir::location_of_node(scope->path, *scope->graph, n));
    }
  }
  if (places.size() > 1) std::erase_if(places, [&](const Location& place) { return place.op != op; });
  return places.size() == 1 ? std::optional(std::move(places.front())) : std::nullopt;
}

}  // namespace

Error by_name_in(Error error, const ir::Model& model) {
  Location& location = error.diagnostic.location;
  if (location.scope.empty() || !location.node) return error;
  for (const auto& scope : ir::graph_scopes(model)) {
    if (scope->path != location.scope || *location.node >= scope->graph->nodes.size()) continue;
    const ir::Node& node = scope->graph->nodes[*location.node];
    const auto written =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](ir::ValueId id) { return id != ir::ValueId::none; });
    Location by_name;
    by_name.node_name = written == node.outputs.end() ? node.name.view() : scope->graph->name_of(*written);
    by_name.op = ir::qualified_op(node);
    location = std::move(by_name);
    return error;
  }
  return error;
}

Error in_step(Error error, const Plan& plan, const Step& step) {
  const std::vector<std::string> nodes = nodes_of(step);
  if (step.kind == host_step) {
    const auto& model = static_cast<const HostParameters&>(*step.parameters).model;
    if (model && !is_named(error)) error = by_name_in(std::move(error), *model);
  } else if (!nodes.empty()) {
    error.diagnostic.notes.push_back(fmt::format("in the step {} of {}", step.kind.name, fmt::join(nodes, ", ")));
  }
  if (nodes.empty() || is_named(error)) return error;
  std::string_view name = nodes.front();
  if (name.starts_with(output_prefix)) name.remove_prefix(output_prefix.size());
  error.diagnostic.location = {};
  error.diagnostic.location.node_name = name;
  if (const std::string* origin = origin_of(plan, name)) error.diagnostic.location.node_name = *origin;
  return error;
}

Error placed(Error error, const ir::Model& original) {
  if (!is_named(error)) return error;
  Location& location = error.diagnostic.location;
  location = place_of(original, location.node_name, location.op).value_or(Location());
  return error;
}

}  // namespace onnxkit::plan
