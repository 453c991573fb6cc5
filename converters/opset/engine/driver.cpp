#include "converters/opset/engine/driver.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include <fmt/core.h>

#include "converters/opset/engine/apply.h"
#include "converters/opset/engine/dead_constants.h"
#include "converters/opset/engine/declare.h"
#include "converters/opset/engine/inferred_values.h"
#include "converters/opset/engine/node_rules.h"
#include "converters/opset/engine/registry.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/function_index.h"

namespace onnxkit::opset {
namespace {

using Scopes = std::vector<std::unique_ptr<Scope>>;

/// What one version change means for all nodes of one operator.
struct Crossing {
  const spec::OpSchema* before = nullptr;
  const spec::OpSchema* after = nullptr;
  const Way* way = nullptr;
};

/// What the file calls a node.
struct Original {
  Text name, domain, op_type;
};

class Driver {
 public:
  Driver(ir::Model& model, const spec::OpTable& table, const ir::ExternalBytes& external, bool follows_scaled_length)
      : model_(model),
        table_(table),
        follows_scaled_length_(follows_scaled_length),
        inferred_(model, table, external),
        names_(model),
        functions_(model) {}

  Conversion run(const std::map<std::string, std::int64_t>& targets) {
    std::vector<Unit> units = all_units();
    is_converting_ = true;
    for (const auto& [domain, version] : targets) {
      domain_ = ir::canonical_domain(domain);
      for (Unit& unit : units) convert_unit(unit, version);
    }
    for (const Unit& unit : units) result_.nodes += unit.is_concerned ? unit.nodes : 0;
    if (result_.refusals.empty()) {
      for (std::string& what : dead_constants_.remove()) result_.changes.push_back({{}, {}, 0, 0, std::move(what)});
    }
    return std::move(result_);
  }

  Conversion compose(const std::function<bool(std::string_view)>& is_unwanted) {
    constexpr int most_rounds = 8;  // what a step writes may be unwanted, too
    std::vector<Unit> units = all_units();
    is_converting_ = true;
    domain_ = {};
    for (Unit& unit : units) {
      const auto opset = ir::opset_of(unit.imports, domain_);
      for (int round = 0; opset && round < most_rounds; ++round)
        if (!compose_once(scopes_of(unit.roots), is_unwanted, *opset)) break;
    }
    return std::move(result_);
  }

 private:
  using Roots = std::vector<std::pair<ir::Graph*, std::vector<std::string>>>;

  /// Graphs that share one import.
  struct Unit {
    Roots roots;
    std::vector<ir::OpsetImport>& imports;
    std::string function;       ///< "function pkg::Block"; empty for the model
    std::size_t nodes = 0;      ///< of the file
    bool is_concerned = false;  ///< imports one of the domains
  };

  std::vector<Unit> all_units() {
    std::vector<Unit> units;
    if (model_.graph) units.push_back({outermost_graphs(), model_.opset_imports, ""});
    for (ir::Function& function : model_.functions) {
      const std::string step = ir::function_step(function);
      units.push_back({{{&function.body, {step}}}, function.opset_imports, step});
    }
    for (Unit& unit : units) {
      for (const auto& scope : scopes_of(unit.roots)) unit.nodes += scope->graph->nodes.size();
    }
    return units;
  }

  Roots outermost_graphs() {
    Roots roots = {{model_.graph.get(), {"main"}}};
    for (std::size_t i = 0; i < model_.training_infos.size(); ++i) {
      const ir::TrainingInfo& training = model_.training_infos[i];
      if (training.initialization)
        roots.push_back({training.initialization.get(), {fmt::format("training_info {} initialization", i)}});
      if (training.algorithm)
        roots.push_back({training.algorithm.get(), {fmt::format("training_info {} algorithm", i)}});
    }
    return roots;
  }

  void convert_unit(Unit& unit, std::int64_t target) {
    std::vector<ir::OpsetImport>& imports = unit.imports;
    const auto import = std::find_if(imports.begin(), imports.end(), [&](const ir::OpsetImport& candidate) {
      return ir::canonical_domain(candidate.domain) == domain_;
    });
    if (import == imports.end()) return;
    unit.is_concerned = true;
    const std::int64_t start = import->version.value_or(0);
    if (start == target) return;
    Scopes scopes = scopes_of(unit.roots);
    refuse_unknown_operators(scopes, start);
    for (std::int64_t at = start; at != target;) {
      const std::int64_t next = at < target ? at + 1 : at - 1;
      if (next < at && prepare(scopes, at)) scopes = scopes_of(unit.roots);
      if (sweep(scopes, at, next)) scopes = scopes_of(unit.roots);
      for (ir::OpsetImport& candidate : imports) {
        if (ir::canonical_domain(candidate.domain) == domain_) candidate.version = next;
      }
      at = next;
    }
    if (domain_.empty() && unit.function.empty() && start >= 6 && target < 6) {
      for (const auto& scope : scopes) declare_casts(*scope->graph);
    }
    result_.imports.push_back({std::string(domain_), unit.function, start, target});
  }

  // ---- graphs

  Scopes scopes_of(const Roots& roots) {
    Scopes scopes;
    for (const auto& [graph, path] : roots) add_scope(scopes, *graph, nullptr, path);
    return scopes;
  }

  void add_scope(Scopes& scopes, ir::Graph& graph, const Scope* parent, std::vector<std::string> path) {
    scopes.push_back(std::make_unique<Scope>(Scope{&graph, parent, std::move(path)}));
    const Scope* scope = scopes.back().get();
    const Lineage& lineage = lineage_of(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      ir::for_each_subgraph(graph.nodes[n], [&](ir::Graph& body, std::size_t attribute) {
        std::vector<std::string> inner = scope->path;
        inner.push_back(fmt::format("node {}", lineage.origin[n]));
        inner.emplace_back(graph.nodes[n].attributes[attribute].name.view());
        if (is_converting_ && !originals_.contains(&body)) made_for_.try_emplace(&body, location_of(*scope, n));
        add_scope(scopes, body, scope, std::move(inner));
      });
    }
  }

  Lineage& lineage_of(const ir::Graph& graph) {
    Lineage& lineage = lineages_[&graph];
    if (lineage.origin.size() == graph.nodes.size()) return lineage;
    lineage.origin.resize(graph.nodes.size());
    for (std::size_t i = 0; i < lineage.origin.size(); ++i) lineage.origin[i] = static_cast<std::uint32_t>(i);
    lineage.blocked.assign(graph.nodes.size(), false);
    if (!is_converting_) {
      std::vector<Original>& originals = originals_[&graph];
      for (const ir::Node& node : graph.nodes) originals.push_back({node.name, node.domain, node.op_type});
    }
    return lineage;
  }

  /// Of the node of the file that this one comes from.
  Location location_of(const Scope& scope, std::size_t node) {
    if (const auto made = made_for_.find(scope.graph); made != made_for_.end()) return made->second;
    const std::uint32_t origin = lineage_of(*scope.graph).origin[node];
    Location location = ir::location_of_node(scope.path, *scope.graph, node);
    location.node = origin;
    location.file = model_.path.string();
    const std::vector<Original>& originals = originals_[scope.graph];
    if (origin < originals.size()) {
      ir::Node original;
      original.domain = originals[origin].domain;
      original.op_type = originals[origin].op_type;
      location.op = ir::qualified_op(original);
      location.node_name = originals[origin].name.view();
    }
    return location;
  }

  bool is_concerned(const ir::Node& node) const {
    if (ir::canonical_domain(node.domain) != domain_) return false;
    return model_.functions.empty() || !functions_.find(node);
  }

  // ---- without a change of version

  /// How to write a node of that opset with other operators; null when no step says.
  const Way* composition_of(const ir::Node& node, std::int64_t opset) const {
    const auto versions = table_.versions(domain_, node.op_type);
    for (const spec::OpSchema* schema : versions) {
      if (schema->since_version > opset) continue;
      if (const Way* way = step_registry().find_before(domain_, node.op_type, schema->since_version)) return way;
    }
    if (versions.empty()) return nullptr;
    const auto first = std::min_element(versions.begin(), versions.end(), [](const auto* a, const auto* b) {
      return a->since_version < b->since_version;
    });
    const Change* change = step_registry().find(domain_, node.op_type, (*first)->since_version);
    return change && change->down.kind == Way::Kind::adapter ? &change->down : nullptr;
  }

  bool compose_once(const Scopes& scopes, const std::function<bool(std::string_view)>& is_unwanted,
                    std::int64_t opset) {
    std::vector<std::vector<PatchedNode>> patches(scopes.size());
    bool any = false;
    for (std::size_t s = 0; s < scopes.size(); ++s) {
      const Scope& scope = *scopes[s];
      for (std::size_t n = 0; n < scope.graph->nodes.size(); ++n) {
        const ir::Node& node = scope.graph->nodes[n];
        if (lineage_of(*scope.graph).blocked[n] || !is_concerned(node) || !is_unwanted(node.op_type.view())) continue;
        const Way* way = composition_of(node, opset);
        Patch patch = way ? attempt(scope, n, *way, opset) : Patch();
        if (patch.empty()) continue;
        any = true;
        patches[s].push_back({n, std::move(patch)});
      }
    }
    if (any) apply_all(scopes, patches, opset, opset);
    return any && result_.refusals.empty();
  }

  // ---- one version

  void refuse_node(const Scope& scope, std::size_t node, std::int64_t from, std::int64_t to, Refusal refusal) {
    lineage_of(*scope.graph).blocked[node] = true;
    const std::string op = ir::qualified_op(scope.graph->nodes[node]);
    const std::string_view op_type = scope.graph->nodes[node].op_type.view();
    Refused refused;
    refused.code = std::move(refusal.code);
    refused.location = location_of(scope, node);
    if (op == refused.location.op) {
      refused.message =
          fmt::format("{} cannot be converted from opset {} to {}: {}", op_type, from, to, refusal.reason);
    } else {
      const spec::OpSchema* schema = table_.find(domain_, op_type, to);
      const std::string obstacle = schema && !table_.is_removed(*schema)
                                       ? fmt::format("cannot be converted from opset {} to {}", from, to)
                                       : fmt::format("opset {} lacks", to);
      refused.message = fmt::format("rewritten using {}, which {}: {}", op_type, obstacle, refusal.reason);
      refused.written_with = op;
    }
    if (reported_.insert(refused.location.path() + '\n' + refused.message).second)
      result_.refusals.push_back(std::move(refused));
  }

  void refuse_unknown_operators(const Scopes& scopes, std::int64_t opset) {
    for (const auto& scope : scopes) {
      for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) {
        const ir::Node& node = scope->graph->nodes[n];
        if (!is_concerned(node)) continue;
        const spec::OpSchema* schema = table_.find(domain_, node.op_type, opset);
        if (schema && !table_.is_removed(*schema)) continue;
        // What a runtime adds to the standard has no other versions, and stays as it is.
        if (!schema && table_.find_with_additions(domain_, node.op_type, opset)) continue;
        Refused finding;
        finding.code = schema                                           ? "operator-removed"
                       : table_.versions(domain_, node.op_type).empty() ? "unknown-operator"
                                                                        : "operator-too-new";
        finding.location = location_of(*scope, n);
        finding.message =
            fmt::format("opset {1}, which the model imports, has no operator {0}", node.op_type.view(), opset);
        result_.refusals.push_back(std::move(finding));
        lineage_of(*scope->graph).blocked[n] = true;
      }
    }
  }

  /// What is tried on the way down before the nodes of opset `at` change. True when graphs may have come or gone.
  bool prepare(const Scopes& scopes, std::int64_t at) {
    std::vector<std::vector<PatchedNode>> patches(scopes.size());
    bool any = false;
    for (std::size_t s = 0; s < scopes.size(); ++s) {
      const Scope& scope = *scopes[s];
      const Lineage& lineage = lineage_of(*scope.graph);
      for (std::size_t n = 0; n < scope.graph->nodes.size(); ++n) {
        const ir::Node& node = scope.graph->nodes[n];
        if (lineage.blocked[n] || !is_concerned(node)) continue;
        const Way* way = step_registry().find_before(domain_, node.op_type, static_cast<std::int32_t>(at));
        Patch patch = way ? attempt(scope, n, *way, at) : Patch();
        if (patch.empty()) continue;
        any = true;
        patches[s].push_back({n, std::move(patch)});
      }
    }
    return any && apply_all(scopes, patches, at, at);
  }

  Patch attempt(const Scope& scope, std::size_t n, const Way& way, std::int64_t at) {
    const spec::OpSchema* schema = table_.find(domain_, scope.graph->nodes[n].op_type, at);
    const Step::Setting setting{model_, inferred_, scope, *schema, schema, at, at, follows_scaled_length_};
    Step step(setting, n);
    try {
      way.function(step);
      Patch patch = step.take();
      if (!patch.empty()) record(scope, n, at, at - 1, patch, way.why);
      return patch;
    } catch (const Refusal&) {
      return {};
    }
  }

  /// True when graphs may have come or gone.
  bool sweep(const Scopes& scopes, std::int64_t at, std::int64_t next) {
    std::unordered_map<std::string_view, Crossing> crossings;
    std::vector<std::vector<PatchedNode>> patches(scopes.size());
    bool any = false;
    for (std::size_t s = 0; s < scopes.size(); ++s) {
      const Scope& scope = *scopes[s];
      const Lineage& lineage = lineage_of(*scope.graph);
      for (std::size_t n = 0; n < scope.graph->nodes.size(); ++n) {
        const ir::Node& node = scope.graph->nodes[n];
        if (lineage.blocked[n] || !is_concerned(node)) continue;
        const auto [entry, is_new] = crossings.try_emplace(node.op_type.view());
        if (is_new) entry->second = crossing(node.op_type, at, next);
        if (entry->second.before == entry->second.after) continue;
        if (!entry->second.before) {
          if (auto refusal = unfit_addition(node, scope, entry->second.after, next, inferred_))
            refuse_node(scope, n, at, next, *std::move(refusal));
          continue;
        }
        Patch patch = cross(scope, n, entry->second, at, next);
        if (patch.empty()) continue;
        any = true;
        patches[s].push_back({n, std::move(patch)});
      }
    }
    if (!any) return false;
    return apply_all(scopes, patches, at, next);
  }

  Crossing crossing(std::string_view op, std::int64_t at, std::int64_t next) const {
    Crossing found{table_.find(domain_, op, at), table_.find(domain_, op, next), nullptr};
    if (found.before == found.after) return found;
    const auto version = static_cast<std::int32_t>(std::max(at, next));
    if (const Change* change = step_registry().find(domain_, op, version))
      found.way = next > at ? &change->up : &change->down;
    return found;
  }

  Patch cross(const Scope& scope, std::size_t n, const Crossing& crossing, std::int64_t at, std::int64_t next) {
    const Step::Setting setting{model_,         inferred_, scope, *crossing.before,
                                crossing.after, at,        next,  follows_scaled_length_};
    Step step(setting, n);
    const ir::Node& node = scope.graph->nodes[n];
    (void)inferred_.take_missed();
    try {
      const Way* way = crossing.way;
      if (!way || way->kind == Way::Kind::none)
        throw Refusal{"no-equivalent",
                      fmt::format("no version change of {} is known between the two", node.op_type.view())};
      if (way->kind == Way::Kind::refusal) throw Refusal{"no-equivalent", way->why};
      if (way->kind == Way::Kind::adapter) way->function(step);
      Patch patch = step.take();
      if (crossing.after && !patch.replaces && !patch.op_type) {
        write_old_defaults(node, *crossing.before, *crossing.after, step, patch);
        drop_omitted(node, *crossing.after, patch);
      }
      if (!patch.edits && !patch.replaces) {
        if (auto refusal = unfit(node, scope, crossing.after, next, inferred_, crossing.before))
          throw *std::move(refusal);
      }
      if (patch.empty()) {
        ++result_.compatible;
      } else {
        record(scope, n, at, next, patch, way->why);
      }
      return patch;
    } catch (Refusal& refusal) {
      // What is not known behind a node that was refused says nothing of the model.
      if (refusal.code == "unknown-fact" && inferred_.take_missed() && !result_.refusals.empty())
        lineage_of(*scope.graph).blocked[n] = true;
      else
        refuse_node(scope, n, at, next, std::move(refusal));
      return {};
    }
  }

  void record(const Scope& scope, std::size_t n, std::int64_t at, std::int64_t next, const Patch& patch,
              const std::string& what) {
    NodeChange change{location_of(scope, n), std::string(scope.graph->nodes[n].op_type.view()), at, next, {}};
    for (const std::string& note : patch.notes) change.what += (change.what.empty() ? "" : "; ") + note;
    if (change.what.empty()) change.what = what;
    for (const ValueId value : patch.declared) {
      const std::string_view name = scope.graph->name_of(value);
      change.what += fmt::format("; relies on the declared sizes of {}", quote(name));
      result_.believed.emplace(name);
    }
    result_.changes.push_back(std::move(change));
    if (patch.replaces || patch.inputs) {
      for (const ValueId input : scope.graph->nodes[n].inputs) dead_constants_.may_be_unused(scope, input);
    }
  }

  bool apply_all(const Scopes& scopes, std::vector<std::vector<PatchedNode>>& patches, std::int64_t at,
                 std::int64_t next) {
    bool moved_graphs = false;
    inferred_.model_changes();
    std::vector<std::vector<std::size_t>> changed(scopes.size());
    // Bodies first: a patch of the node around one may give it values, and those of its own patches are counted from the number that it had.
    for (std::size_t s = scopes.size(); s-- > 0;) {
      if (patches[s].empty()) continue;
      for (const PatchedNode& patched : patches[s]) moved_graphs |= static_cast<bool>(patched.patch.finish);
      moved_graphs |=
          std::any_of(patches[s].begin(), patches[s].end(), [](const PatchedNode& p) { return p.patch.replaces; });
      ir::Graph& graph = *scopes[s]->graph;
      changed[s] = apply(patches[s], model_, graph, lineage_of(graph), names_, gone_);
    }
    inferred_.model_changed();
    for (std::size_t s = 0; s < scopes.size(); ++s) {
      for (const std::size_t n : changed[s]) {
        const ir::Node& node = scopes[s]->graph->nodes[n];
        if (!is_concerned(node)) continue;
        if (auto refusal =
                unfit(node, *scopes[s], table_.find_with_additions(domain_, node.op_type, next), next, inferred_))
          refuse_node(*scopes[s], n, at, next, *std::move(refusal));
      }
    }
    return moved_graphs;
  }

  ir::Model& model_;
  const spec::OpTable& table_;
  const bool follows_scaled_length_;
  std::string_view domain_;  ///< the one that moves
  InferredValues inferred_;
  ir::FreshNames names_;
  const spec::FunctionIndex functions_;
  DeadConstants dead_constants_;
  std::unordered_map<const ir::Graph*, Lineage> lineages_;
  std::vector<ir::Node> gone_;
  /// Of the graphs of the file, by their nodes there.
  std::unordered_map<const ir::Graph*, std::vector<Original>> originals_;
  /// Graphs that steps made: the node of the file that they were made for.
  std::unordered_map<const ir::Graph*, Location> made_for_;
  bool is_converting_ = false;
  std::set<std::string> reported_;
  Conversion result_;
};

}  // namespace

Conversion convert(ir::Model& model, const spec::OpTable& table, const std::map<std::string, std::int64_t>& targets,
                   const ir::ExternalBytes& external, bool follows_scaled_length) {
  return Driver(model, table, external, follows_scaled_length).run(targets);
}

Conversion compose(ir::Model& model, const spec::OpTable& table,
                   const std::function<bool(std::string_view)>& is_unwanted, const ir::ExternalBytes& external) {
  return Driver(model, table, external, false).compose(is_unwanted);
}

}  // namespace onnxkit::opset
