#include "converters/opset/driver.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "converters/opset/apply.h"
#include "converters/opset/declare.h"
#include "converters/opset/facts.h"
#include "converters/opset/leftovers.h"
#include "converters/opset/names.h"
#include "converters/opset/node_rules.h"
#include "converters/opset/registry.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/spec/function_index.h"

namespace onnxkit::opset {
namespace {

using Sites = std::vector<std::unique_ptr<Site>>;

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
  Driver(ir::Model& model, const spec::OpTable& table, const ir::ExternalBytes& external)
      : model_(model), table_(table), facts_(model, table, external), names_(model), functions_(model) {}

  Conversion run(const std::map<std::string, std::int64_t>& targets) {
    std::vector<Unit> units = all_units();
    is_converting_ = true;
    for (const auto& [domain, version] : targets) {
      domain_ = spec::canonical_domain(domain);
      for (Unit& unit : units) convert_unit(unit, version);
    }
    for (const Unit& unit : units) result_.nodes += unit.is_concerned ? unit.nodes : 0;
    if (result_.refusals.empty()) {
      for (std::string& what : leftovers_.remove()) result_.changes.push_back({{}, {}, 0, 0, std::move(what)});
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
      const std::string step = checker::function_step(function);
      units.push_back({{{&function.body, {step}}}, function.opset_imports, step});
    }
    for (Unit& unit : units) {
      for (const auto& site : sites_of(unit.roots)) unit.nodes += site->graph->nodes.size();
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
      return spec::canonical_domain(candidate.domain) == domain_;
    });
    if (import == imports.end()) return;
    unit.is_concerned = true;
    const std::int64_t start = import->version.value_or(0);
    if (start == target) return;
    Sites sites = sites_of(unit.roots);
    refuse_unknown_operators(sites, start);
    for (std::int64_t at = start; at != target;) {
      const std::int64_t next = at < target ? at + 1 : at - 1;
      if (sweep(sites, at, next)) sites = sites_of(unit.roots);
      for (ir::OpsetImport& candidate : imports) {
        if (spec::canonical_domain(candidate.domain) == domain_) candidate.version = next;
      }
      at = next;
    }
    if (domain_.empty() && unit.function.empty() && start >= 6 && target < 6) {
      for (const auto& site : sites) declare_casts(*site->graph);
    }
    result_.imports.push_back({std::string(domain_), unit.function, start, target});
  }

  // ---- graphs

  Sites sites_of(const Roots& roots) {
    Sites sites;
    for (const auto& [graph, scope] : roots) add_site(sites, *graph, nullptr, scope);
    return sites;
  }

  void add_site(Sites& sites, ir::Graph& graph, const Site* parent, std::vector<std::string> scope) {
    sites.push_back(std::make_unique<Site>(Site{&graph, parent, std::move(scope)}));
    const Site* site = sites.back().get();
    const Lineage& lineage = lineage_of(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      ir::for_each_subgraph(graph.nodes[n], [&](const ir::Graph& body, std::size_t attribute) {
        std::vector<std::string> inner = site->scope;
        inner.push_back(fmt::format("node {}", lineage.origin[n]));
        inner.emplace_back(graph.nodes[n].attributes[attribute].name.view());
        if (is_converting_ && !originals_.contains(&body)) made_for_.try_emplace(&body, place_of(*site, n));
        add_site(sites, const_cast<ir::Graph&>(body), site, std::move(inner));
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
  Place place_of(const Site& site, std::size_t node) {
    if (const auto made = made_for_.find(site.graph); made != made_for_.end()) return made->second;
    const std::uint32_t origin = lineage_of(*site.graph).origin[node];
    Place place = checker::place_of_node(site.scope, *site.graph, node);
    place.node = origin;
    place.file = model_.path.string();
    const std::vector<Original>& originals = originals_[site.graph];
    if (origin < originals.size()) {
      ir::Node original;
      original.domain = originals[origin].domain;
      original.op_type = originals[origin].op_type;
      place.op = checker::qualified_op(original);
      place.node_name = originals[origin].name.view();
    }
    return place;
  }

  bool is_concerned(const ir::Node& node) const {
    if (spec::canonical_domain(node.domain) != domain_) return false;
    return model_.functions.empty() || !functions_.find(node);
  }

  // ---- one version

  void refuse_node(const Site& site, std::size_t node, std::int64_t from, std::int64_t to, Refusal refusal) {
    lineage_of(*site.graph).blocked[node] = true;
    const std::string op = checker::qualified_op(site.graph->nodes[node]);
    Refused refused;
    refused.code = std::move(refusal.code);
    refused.place = place_of(site, node);
    refused.message = fmt::format("{} cannot go from opset {} to {}: {}", site.graph->nodes[node].op_type.view(), from,
                                  to, refusal.reason);
    if (op != refused.place.op) refused.written_with = op;
    if (told_.insert(refused.place.path() + '\n' + refused.message).second)
      result_.refusals.push_back(std::move(refused));
  }

  void refuse_unknown_operators(const Sites& sites, std::int64_t opset) {
    for (const auto& site : sites) {
      for (std::size_t n = 0; n < site->graph->nodes.size(); ++n) {
        const ir::Node& node = site->graph->nodes[n];
        if (!is_concerned(node)) continue;
        const spec::OpSchema* schema = table_.find(domain_, node.op_type, opset);
        if (schema && !schema->deprecated) continue;
        Refused finding;
        finding.code = schema                                           ? "operator-removed"
                       : table_.versions(domain_, node.op_type).empty() ? "unknown-operator"
                                                                        : "operator-too-new";
        finding.place = place_of(*site, n);
        finding.message =
            fmt::format("{} is no operator of opset {}, which the model says it uses", node.op_type.view(), opset);
        result_.refusals.push_back(std::move(finding));
        lineage_of(*site->graph).blocked[n] = true;
      }
    }
  }

  /// True when graphs may have come or gone.
  bool sweep(const Sites& sites, std::int64_t at, std::int64_t next) {
    std::unordered_map<std::string_view, Crossing> crossings;
    std::vector<std::vector<PatchedNode>> patches(sites.size());
    bool any = false;
    for (std::size_t s = 0; s < sites.size(); ++s) {
      const Site& site = *sites[s];
      const Lineage& lineage = lineage_of(*site.graph);
      for (std::size_t n = 0; n < site.graph->nodes.size(); ++n) {
        const ir::Node& node = site.graph->nodes[n];
        if (lineage.blocked[n] || !is_concerned(node)) continue;
        const auto [entry, is_new] = crossings.try_emplace(node.op_type.view());
        if (is_new) entry->second = crossing(node.op_type, at, next);
        if (entry->second.before == entry->second.after) continue;
        Patch patch = cross(site, n, entry->second, at, next);
        if (patch.empty()) continue;
        any = true;
        patches[s].push_back({n, std::move(patch)});
      }
    }
    if (!any) return false;
    return apply_all(sites, patches, at, next);
  }

  Crossing crossing(std::string_view op, std::int64_t at, std::int64_t next) const {
    Crossing found{table_.find(domain_, op, at), table_.find(domain_, op, next), nullptr};
    const auto version = static_cast<std::int32_t>(std::max(at, next));
    if (const Change* change = step_registry().find(domain_, op, version))
      found.way = next > at ? &change->up : &change->down;
    return found;
  }

  Patch cross(const Site& site, std::size_t n, const Crossing& crossing, std::int64_t at, std::int64_t next) {
    const Step::Setting setting{model_, facts_, site, *crossing.before, crossing.after, at, next};
    Step step(setting, n);
    const ir::Node& node = site.graph->nodes[n];
    (void)facts_.take_missed();
    try {
      const Way* way = crossing.way;
      if (!way || way->kind == Way::Kind::none)
        throw Refusal{"no-equivalent", fmt::format("nothing is known of {} between the two", node.op_type.view())};
      if (way->kind == Way::Kind::refusal) throw Refusal{"no-equivalent", way->why};
      if (way->kind == Way::Kind::adapter) way->function(step);
      Patch patch = step.take();
      if (crossing.after && !patch.replaces && !patch.op_type) {
        write_old_defaults(node, *crossing.before, *crossing.after, step, patch);
        drop_omitted(node, *crossing.after, patch);
      }
      if (!patch.edits && !patch.replaces) {
        if (auto refusal = unfit(node, site, crossing.after, next, facts_, crossing.before)) throw *std::move(refusal);
      }
      if (patch.empty()) {
        ++result_.compatible;
      } else {
        record(site, n, at, next, patch, way->why);
      }
      return patch;
    } catch (Refusal& refusal) {
      // What is not known behind a node that was refused says nothing of the model.
      if (refusal.code == "unknown-fact" && facts_.take_missed() && !result_.refusals.empty())
        lineage_of(*site.graph).blocked[n] = true;
      else
        refuse_node(site, n, at, next, std::move(refusal));
      return {};
    }
  }

  void record(const Site& site, std::size_t n, std::int64_t at, std::int64_t next, const Patch& patch,
              const std::string& what) {
    NodeChange change{place_of(site, n), std::string(site.graph->nodes[n].op_type.view()), at, next, {}};
    for (const std::string& note : patch.notes) change.what += (change.what.empty() ? "" : "; ") + note;
    if (change.what.empty()) change.what = what;
    for (const ValueId value : patch.declared) {
      const std::string_view name = site.graph->name_of(value);
      change.what += fmt::format("; relies on the sizes that the model declares of {}", quote(name));
      result_.believed.emplace(name);
    }
    result_.changes.push_back(std::move(change));
    if (patch.replaces || patch.inputs) {
      for (const ValueId input : site.graph->nodes[n].inputs) leftovers_.may_be_unused(site, input);
    }
  }

  bool apply_all(const Sites& sites, std::vector<std::vector<PatchedNode>>& patches, std::int64_t at,
                 std::int64_t next) {
    bool moved_graphs = false;
    facts_.model_changes();
    std::vector<std::vector<std::size_t>> changed(sites.size());
    for (std::size_t s = 0; s < sites.size(); ++s) {
      if (patches[s].empty()) continue;
      for (const PatchedNode& patched : patches[s]) moved_graphs |= static_cast<bool>(patched.patch.finish);
      moved_graphs |=
          std::any_of(patches[s].begin(), patches[s].end(), [](const PatchedNode& p) { return p.patch.replaces; });
      ir::Graph& graph = *sites[s]->graph;
      changed[s] = apply(patches[s], model_, graph, lineage_of(graph), names_, gone_);
    }
    facts_.model_changed();
    for (std::size_t s = 0; s < sites.size(); ++s) {
      for (const std::size_t n : changed[s]) {
        const ir::Node& node = sites[s]->graph->nodes[n];
        if (!is_concerned(node)) continue;
        if (auto refusal = unfit(node, *sites[s], table_.find(domain_, node.op_type, next), next, facts_))
          refuse_node(*sites[s], n, at, next, *std::move(refusal));
      }
    }
    return moved_graphs;
  }

  ir::Model& model_;
  const spec::OpTable& table_;
  std::string_view domain_;  ///< the one that moves
  Facts facts_;
  FreshNames names_;
  const spec::FunctionIndex functions_;
  Leftovers leftovers_;
  std::unordered_map<const ir::Graph*, Lineage> lineages_;
  std::vector<ir::Node> gone_;
  /// Of the graphs of the file, by their nodes there.
  std::unordered_map<const ir::Graph*, std::vector<Original>> originals_;
  /// Graphs that steps made: the node of the file that they were made for.
  std::unordered_map<const ir::Graph*, Place> made_for_;
  bool is_converting_ = false;
  std::set<std::string> told_;
  Conversion result_;
};

}  // namespace

Conversion convert(ir::Model& model, const spec::OpTable& table, const std::map<std::string, std::int64_t>& targets,
                   const ir::ExternalBytes& external) {
  return Driver(model, table, external).run(targets);
}

}  // namespace onnxkit::opset
