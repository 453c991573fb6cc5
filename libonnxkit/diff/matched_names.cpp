#include "libonnxkit/diff/matched_names.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

#include "libonnxkit/diff/common_values.h"
#include "libonnxkit/diff/matching.h"
#include "libonnxkit/diff/single_node.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/rename.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::diffing {
namespace {

using ir::ValueId;

std::set<std::string_view> names_of(const ir::Model& model) {
  const ir::Graph& graph = *model.graph;
  const std::vector<bool> is_constant = constant_nodes(model);
  std::set<std::string_view> names;
  for (const ir::ValueInfo& input : graph.inputs) names.insert(graph.name_of(input.value));
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    if (is_constant[node]) continue;
    for (const ValueId output : graph.nodes[node].outputs) {
      if (output != ValueId::none) names.insert(graph.name_of(output));
    }
  }
  return names;
}

/// Whether each has values that the other has not by name.
bool have_other_names(const ir::Model& base, const ir::Model& side) {
  const auto some = names_of(base), others = names_of(side);
  return !std::includes(some.begin(), some.end(), others.begin(), others.end()) &&
         !std::includes(others.begin(), others.end(), some.begin(), some.end());
}

/// The names that graphs inside the main graph have for values.
std::unordered_set<std::string_view> names_inside(const ir::Model& model) {
  std::unordered_set<std::string_view> names;
  for (const auto& scope : ir::graph_scopes(model)) {
    if (scope->graph == model.graph.get()) continue;
    for (const ir::Value& value : scope->graph->values) names.insert(value.name.view());
  }
  return names;
}

/// Renames in two steps, as names may be exchanged. A value that has one of the new names and no partner gets a name of its own.
bool rename_matched(ir::Model& model, const std::map<std::string, std::string, std::less<>>& wanted) {
  ir::Graph& graph = *model.graph;
  ir::FreshNames names(model);
  ir::Renames aside, final_names;
  std::size_t number = 0;
  const auto put_aside = [&](std::string_view name) {
    const Text kept = names.make(fmt::format("{}_unmatched_{}", name, number++));
    aside.emplace(graph.name_of(graph.find(name)), kept);
    return kept;
  };
  for (const auto& [from, to] : wanted) {
    if (graph.find(to) != ValueId::none && !wanted.contains(to)) put_aside(to);
  }
  for (const auto& [from, to] : wanted) final_names.emplace(put_aside(from).view(), model.keep(to));
  return ir::rename_values(graph, aside) && ir::rename_values(graph, final_names);
}

}  // namespace

Result<std::vector<InnerValue>> inner_values(NoiseFloor& noise_floor, const InputSet& set, Profile profile) {
  const ir::Graph& graph = noise_floor.graph();
  const std::vector<bool> is_constant = constant_nodes(noise_floor.model());
  const ir::Uses uses(graph);
  std::vector<InnerValue> values;
  std::unordered_map<ValueId, std::size_t> known;
  const auto inputs = noise_floor.inputs(set);
  if (!inputs) return inputs.error();
  for (const NamedValue& input : *inputs) {
    known.emplace(graph.find(input.name), values.size());
    values.push_back({input.name, std::string(input_op), {}, summarize(input.value)});
  }
  const auto take = [&](std::size_t node, std::string_view name, const exec::Spread& spread) -> Result<void> {
    InnerValue value{std::string(name), std::string(graph.nodes[node].op_type.view()), {}, summarize(spread.exact)};
    for (const ValueId read : uses.reads(node)) {
      if (const auto found = known.find(read); found != known.end()) value.from.push_back(found->second);
    }
    known.insert_or_assign(graph.find(name), values.size());
    values.push_back(std::move(value));
    return {};
  };
  std::vector<bool> is_wanted(graph.values.size(), false);
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    for (const ValueId id : graph.nodes[node].outputs)
      if (id != ValueId::none) is_wanted[ir::index_of(id)] = !is_constant[node];
  }
  const auto wants = [&](std::string_view name) { return is_wanted[ir::index_of(graph.find(name))]; };
  if (auto run = noise_floor.each_value(set, profile, 0, wants, take); !run) return run.error();
  return values;
}

std::map<std::string, std::string> same_outputs(const ir::Graph& base, const std::vector<std::string>& side,
                                                const std::map<std::string, std::string>& names) {
  std::map<std::string, std::string> same;
  const bool are_only = base.outputs.size() == 1 && side.size() == 1;
  for (const ir::ValueInfo& output : base.outputs) {
    const std::string name(base.name_of(output.value));
    for (const std::string& other : side) {
      if (are_only || is_same_name(names, name, other)) same.emplace(name, other);
    }
  }
  return same;
}

Result<std::optional<MatchedSide>> matched_side(const LayerQuestion& question) {
  const std::optional<MatchedSide> nothing;
  const ir::Graph& graph = question.noise_floor.graph();
  if (!have_other_names(question.noise_floor.model(), question.side.model->ir())) return nothing;
  auto floor = NoiseFloor::make(question.side.model, question.sessions);
  if (!floor) return floor.error();
  const auto base = inner_values(question.noise_floor, question.set, question.profile);
  if (!base) return base.error();
  const auto side = inner_values(*floor, question.set, question.profile);
  if (!side) return side.error();

  MatchOptions options;
  std::vector<std::string> outputs;
  for (const ir::ValueInfo& output : floor->graph().outputs) outputs.emplace_back(floor->graph().name_of(output.value));
  options.same = same_outputs(graph, outputs, question.options.names);
  MatchedSide matched;
  auto model = std::make_shared<Model>(*question.side.model);
  const std::unordered_set<std::string_view> inside = names_inside(model->ir());
  std::map<std::string, std::string, std::less<>> wanted;
  for (const ValuePair& pair : correspond(*base, *side, options)) {
    const std::string &to = (*base)[pair.base].name, &from = (*side)[pair.side].name;
    if (to != from && inside.contains(to)) continue;
    matched.matches.emplace(to, MatchedSide::Match{from, pair.by});
    if (to != from) wanted.emplace(from, to);
  }
  if (wanted.empty()) return nothing;
  if (!rename_matched(model->ir(), wanted)) return nothing;
  matched.side = side_on(question.side, std::move(model));
  return std::optional(std::move(matched));
}

}  // namespace onnxkit::diffing
