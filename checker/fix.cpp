#include "checker/fix.h"
#include "libonnxkit/ir/scope.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

#include "checker/infer/inference.h"
#include "checker/rule_registry.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/patch.h"
#include "libonnxkit/spec/function_index.h"

namespace onnxkit::checker {
namespace {

using ir::index_of;
using ir::ValueId;

std::vector<std::string_view> initializer_names(const ir::Graph& graph) {
  std::vector<std::string_view> names;
  for (const ir::Tensor& tensor : graph.initializers) names.push_back(tensor.name);
  for (const ir::SparseTensor& sparse : graph.sparse_initializers) {
    if (sparse.values) names.push_back(sparse.values->name);
  }
  return names;
}

class Fixer {
 public:
  Fixer(ir::Model& model, const spec::OpTable& table) : model_(model), table_(table), functions_(model) {}

  std::vector<Fix> run() {
    drop_repeated_imports();
    stamp_default_opset();
    if (model_.graph) {
      collect_names(*model_.graph);
      fix_graph(*model_.graph, {"main"});
    }
    for (ir::Function& function : model_.functions) {
      collect_names(function.body);
      ir::Patch patch(function.body);
      sort_nodes(patch, {ir::function_step(function)});
      ir::splice(function.body, std::move(patch));
    }
    correct_declarations();
    return std::move(fixes_);
  }

 private:
  using Scope = std::vector<std::string>;

  void add(std::string code, Scope scope, std::string item, std::string_view name, std::string done) {
    Fix fix;
    fix.code = std::move(code);
    fix.location.file = model_.path.string();
    fix.location.scope = std::move(scope);
    fix.location.item = std::move(item);
    fix.location.item_name = name;
    fix.done = std::move(done);
    fixes_.push_back(std::move(fix));
  }

  void drop_repeated_imports() {
    std::set<std::pair<std::string_view, std::optional<std::int64_t>>> seen;
    std::erase_if(model_.opset_imports, [&](const ir::OpsetImport& import) {
      if (seen.emplace(ir::canonical_domain(import.domain), import.version).second) return false;
      add("opset-duplicate", {}, "opset_import", import.domain,
          fmt::format("removed the second import of {}", quote(import.domain)));
      return true;
    });
  }

  // ---- a missing import of ai.onnx

  bool fits(const ir::Graph& graph, std::int64_t opset) const {
    return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node& node) {
      bool inner = true;
      ir::for_each_subgraph(node, [&](const ir::Graph& body, std::size_t) { inner = inner && fits(body, opset); });
      if (!inner) return false;
      if (!ir::canonical_domain(node.domain).empty() || functions_.find(node)) return true;
      const spec::OpSchema* schema = table_.find("", node.op_type, opset);
      if (!schema || table_.is_removed(*schema)) return false;
      const auto within = [](std::size_t n, std::size_t least, std::size_t most) {
        return n >= least && (most == 0xffff || n <= most);
      };
      if (!within(node.inputs.size(), schema->min_inputs, schema->max_inputs)) return false;
      if (!within(node.outputs.size(), schema->min_outputs, schema->max_outputs)) return false;
      for (const ir::Attribute& attribute : node.attributes) {
        if (!schema->find_attribute(attribute.name)) return false;
      }
      return std::all_of(schema->attributes.begin(), schema->attributes.end(),
                         [&](const spec::AttributeSchema& attribute) {
                           return !attribute.required || node.find_attribute(attribute.name);
                         });
    });
  }

  static bool uses_default_domain(const ir::Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const ir::Node& node) {
      bool uses = ir::canonical_domain(node.domain).empty();
      ir::for_each_subgraph(node,
                            [&](const ir::Graph& body, std::size_t) { uses = uses || uses_default_domain(body); });
      return uses;
    });
  }

  void stamp_default_opset() {
    if (!model_.graph || ir::opset_of(model_.opset_imports, "") || model_.ir_version.value_or(0) < 3) return;
    if (!model_.opset_imports.empty() && !uses_default_domain(*model_.graph)) return;
    for (std::int64_t opset = spec::newest_opset(""); opset > 0; --opset) {
      if (spec::ir_version_of_opset(opset) > *model_.ir_version || !fits(*model_.graph, opset)) continue;
      model_.opset_imports.push_back({.domain = Text(""), .version = opset, .unknown_fields = {}});
      add("opset-import", {}, "opset_import", "",
          fmt::format("imported opset {} of ai.onnx, the newest of IR version {} that suits every node", opset,
                      *model_.ir_version));
      return;
    }
  }

  // ---- graphs

  void collect_names(const ir::Graph& graph) {
    for (const ir::Value& value : graph.values) names_.insert(value.name.view());
    for (const ir::Node& node : graph.nodes) {
      ir::for_each_subgraph(node, [&](const ir::Graph& body, std::size_t) { collect_names(body); });
    }
  }

  void fix_graph(ir::Graph& graph, const Scope& scope) {
    if (graph.name.empty()) {
      graph.name = scope.size() == 1 ? Text("main_graph") : model_.keep("body_of_" + scope.back());
      add("graph-name", scope, "", "", fmt::format("named the graph {}", quote(graph.name)));
    }
    ir::Patch patch(graph);
    rename_hiding_values(patch, scope);
    sort_nodes(patch, scope);
    ir::splice(graph, std::move(patch));
    std::vector<std::string_view> own;
    const auto show = [&](std::string_view name) {
      if (visible_.insert(name).second) own.push_back(name);
    };
    for (const ir::ValueInfo& input : graph.inputs) show(graph.name_of(input.value));
    for (const std::string_view name : initializer_names(graph)) show(name);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      ir::for_each_subgraph(graph.nodes[n], [&](ir::Graph& body, std::size_t attribute) {
        Scope inner = scope;
        inner.push_back(fmt::format("node {}", n));
        inner.emplace_back(graph.nodes[n].attributes[attribute].name.view());
        fix_graph(body, inner);
      });
      for (const ValueId output : graph.nodes[n].outputs) {
        if (output != ValueId::none) show(graph.name_of(output));
      }
    }
    for (const std::string_view name : own) visible_.erase(name);
  }

  void rename_hiding_values(ir::Patch& patch, const Scope& scope) {
    if (visible_.empty()) return;
    const ir::Graph& graph = patch.graph();
    std::set<ValueId> defined;
    for (const ir::ValueInfo& input : graph.inputs) defined.insert(input.value);
    for (const std::string_view name : initializer_names(graph)) defined.insert(graph.find(name));
    for (const ir::Node& node : graph.nodes) defined.insert(node.outputs.begin(), node.outputs.end());
    for (const ValueId id : defined) {
      if (id == ValueId::none || !visible_.contains(graph.name_of(id))) continue;
      const std::string old(graph.name_of(id));
      const Text fresh = fresh_name(old);
      patch.rename(id, fresh);
      add("subgraph-scope", scope, "value", old, fmt::format("renamed {} to {}", quote(old), quote(fresh)));
    }
  }

  Text fresh_name(const std::string& stem) {
    for (std::size_t& i = last_suffix_[stem];;) {
      ++i;
      const std::string candidate = fmt::format("{}_inner{}", stem, i == 1 ? "" : std::to_string(i));
      if (names_.contains(candidate)) continue;
      const Text kept = model_.keep(candidate);
      names_.insert(kept.view());
      return kept;
    }
  }

  void sort_nodes(ir::Patch& patch, const Scope& scope) {
    std::vector<std::size_t> order = ir::evaluation_order(patch.graph());
    if (std::is_sorted(order.begin(), order.end()) || has_cycle(patch.graph(), order)) return;
    std::size_t moved = 0;
    for (std::size_t i = 0; i < order.size(); ++i) moved += order[i] != i ? 1 : 0;
    add("not-sorted", scope, "", "", fmt::format("sorted the nodes, moved {} of {}", moved, order.size()));
    patch.reorder(std::move(order));
  }

  static bool has_cycle(const ir::Graph& graph, const std::vector<std::size_t>& order) {
    const std::vector<std::int32_t> producer = ir::producers(graph);
    std::vector<std::size_t> position(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
    const auto too_late = [&](ValueId id, std::size_t node) {
      return id != ValueId::none && producer[index_of(id)] >= 0 &&
             position[static_cast<std::size_t>(producer[index_of(id)])] >= position[node];
    };
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ValueId id : graph.nodes[n].inputs) {
        if (too_late(id, n)) return true;
      }
      for (const ValueId id : ir::captured_values(graph, graph.nodes[n])) {
        if (too_late(id, n)) return true;
      }
    }
    return false;
  }

  // ---- declared types

  /// The code of what is wrong with a declaration, by graph and value.
  using Faults = std::map<std::pair<std::string, std::string>, std::string>;

  /// What inference or the rule of values objects to, and nothing else: right entries keep their names of dimensions.
  void correct_declarations() {
    Collector collector;
    const auto scopes = ir::graph_scopes(model_);
    const spec::Resolution resolution(model_, scopes, table_);
    InferredModel inferred = infer_types(model_, resolution, {}, collector);
    const InferenceOptions options;
    RuleContext context{.model = model_,
                        .table = table_,
                        .resolution = resolution,
                        .scopes = scopes,
                        .inferred = nullptr,
                        .external_bytes = options.external_bytes,
                        .collector = collector};
    rule_registry().run(Stage::structure, context);
    Faults stale, wrong;
    for (const Diagnostic& finding : collector.diagnostics()) {
      const bool is_shape = finding.code == "declared-shape" || finding.code == "dim-name-conflict";
      if (finding.location.item == "value")
        stale.try_emplace({ir::path_text(finding.location.scope), finding.location.item_name}, finding.code);
      else if (finding.location.item == "output" && is_shape)
        wrong.try_emplace({ir::path_text(finding.location.scope), finding.location.item_name}, finding.code);
    }
    if (stale.empty() && wrong.empty()) return;
    const std::vector<ir::Graph*> graphs = ir::mutable_graphs(model_);
    for (std::size_t i = 0; i < scopes.size(); ++i) {
      ir::Patch patch(*graphs[i]);
      drop_stale_value_infos(patch, scopes[i]->path, stale);
      if (const auto info = inferred.graphs.find(graphs[i]); info != inferred.graphs.end())
        correct_outputs(patch, scopes[i]->path, wrong, info->second, inferred.dims);
      ir::splice(*graphs[i], std::move(patch));
    }
  }

  void drop_stale_value_infos(ir::Patch& patch, const Scope& scope, const Faults& stale) {
    for (const ir::ValueInfo& info : patch.graph().value_infos) {
      const std::string name(patch.graph().name_of(info.value));
      const auto fault = stale.find({ir::path_text(scope), name});
      if (fault == stale.end()) continue;
      add(fault->second, scope, "value", name, fmt::format("removed the stale value_info of {}", quote(name)));
      patch.declare(info.value, std::nullopt);
    }
  }

  void correct_outputs(ir::Patch& patch, const Scope& scope, const Faults& wrong, const GraphInfo& info,
                       DimPool& dims) {
    const ir::Graph& graph = patch.graph();
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const ir::ValueInfo& output = graph.outputs[i];
      if (output.value == ValueId::none || !output.type || !output.type->shape) continue;
      const std::string name(graph.name_of(output.value));
      const auto fault = wrong.find({ir::path_text(scope), name});
      const Type& type = info.values[index_of(output.value)].type;
      if (fault == wrong.end() || !type.shape) continue;
      ir::DeclaredType corrected = *ir::clone(output).type;
      correct_shape(*corrected.shape, type, dims);
      const std::string before = to_string(from_declared(*output.type, dims, UnknownDim{}), dims);
      const std::string after = to_string(from_declared(corrected, dims, UnknownDim{}), dims);
      add(fault->second, scope, "output", name,
          fmt::format("declared output {} as {}, which the nodes give, not {}", quote(name), after, before));
      patch.declare_output(i, std::move(corrected));
    }
  }

  /// Sizes that inference does not know stay as declared where that is possible.
  void correct_shape(ir::DeclaredShape& own, const Type& type, DimPool& dims) {
    ir::DeclaredType inferred = to_declared(type, dims, [this](const std::string& text) { return model_.keep(text); });
    const bool same_rank = own.dims.size() == type.shape->size();
    for (std::size_t axis = 0; same_rank && axis < own.dims.size(); ++axis) {
      const Dim known = (*type.shape)[axis];
      const bool is_open = known.is_unknown() || dims.has_origin(known, ir::SymbolOrigin::lost) ||
                           dims.has_origin(known, ir::SymbolOrigin::data_dependent);
      const auto stated = own.dims[axis].size();
      if (is_open && !(stated && dims.never_equal(*stated, known)))
        inferred.shape->dims[axis] = std::move(own.dims[axis]);
    }
    own = std::move(*inferred.shape);
  }

  ir::Model& model_;
  const spec::OpTable& table_;
  spec::FunctionIndex functions_;
  std::vector<Fix> fixes_;
  std::unordered_set<std::string_view> names_;
  std::unordered_set<std::string_view> visible_;  ///< names that enclosing graphs define and the graph at hand can see
  std::unordered_map<std::string, std::size_t> last_suffix_;  ///< of fresh names, by their stem
};

}  // namespace

std::vector<Fix> fix_model(ir::Model& model, const spec::OpTable& table) { return Fixer(model, table).run(); }

}  // namespace onnxkit::checker
