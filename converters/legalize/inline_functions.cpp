#include "converters/legalize/inline_functions.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/rename.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/node_attributes.h"

namespace onnxkit::legalize {
namespace {

using ir::ValueId;

// Hostile models nest calls exponentially.
constexpr std::size_t most_depth = 64;
constexpr std::size_t more_nodes = 200'000, more_for_each = 16;

/// One body in place of one node.
class InlinedCall {
 public:
  InlinedCall(ir::Model& model, ir::Graph& graph, ir::FreshNames& names, const ir::Function& function,
              const ir::Node& call)
      : model_(model),
        graph_(graph),
        names_(names),
        body_(function.body),
        call_(call),
        bindings_(spec::bind_attributes(function, call, nullptr)),
        there_(body_.values.size(), ValueId::none),
        is_known_(body_.values.size(), false) {}

  std::vector<ir::Node> nodes() {
    for (std::size_t i = 0; i < body_.inputs.size(); ++i)
      stand_for(body_.inputs[i].value, i < call_.inputs.size() ? call_.inputs[i] : ValueId::none);
    const std::vector<std::int32_t> producer = ir::producers(body_);
    for (std::size_t i = 0; i < body_.outputs.size() && i < call_.outputs.size(); ++i) {
      const ValueId output = body_.outputs[i].value;
      if (output == ValueId::none || call_.outputs[i] == ValueId::none) continue;
      if (producer[index_of(output)] >= 0 && !is_known_[index_of(output)]) stand_for(output, call_.outputs[i]);
    }
    for (const std::size_t n : ir::evaluation_order(body_)) copy(body_.nodes[n]);
    pass_on();
    return std::move(made_);
  }

 private:
  void stand_for(ValueId own, ValueId outer) {
    if (own == ValueId::none) return;
    there_[index_of(own)] = outer;
    is_known_[index_of(own)] = true;
  }

  ValueId there(ValueId own) {
    if (own == ValueId::none) return own;
    if (!is_known_[index_of(own)]) stand_for(own, graph_.intern(names_.make(body_.name_of(own))));
    return there_[index_of(own)];
  }

  /// Outputs that no node of the body writes under their own name: an input, or a value that another output is already.
  void pass_on() {
    for (std::size_t i = 0; i < body_.outputs.size() && i < call_.outputs.size(); ++i) {
      const ValueId output = call_.outputs[i];
      if (output == ValueId::none || body_.outputs[i].value == ValueId::none) continue;
      const ValueId source = there(body_.outputs[i].value);
      if (source != output) made_.push_back(ir::make_node(model_, "Identity", {source}, {output}));
    }
  }

  void copy(const ir::Node& source) {
    ir::Node node = ir::clone(source);
    for (ValueId& id : node.inputs) id = there(id);
    for (ValueId& id : node.outputs) id = there(id);
    while (!node.inputs.empty() && node.inputs.back() == ValueId::none) node.inputs.pop_back();
    if (!call_.name.empty() && !node.name.empty())
      node.name = model_.keep(fmt::format("{}/{}", call_.name.view(), node.name.view()));
    ir::for_each_subgraph(node, [&](ir::Graph& inner, std::size_t) { settle(inner); });
    bind_attributes(node);
    made_.push_back(std::move(node));
  }

  /// Behind `settle`: a graph that the call gives as an attribute has names of the caller.
  void bind_attributes(ir::Node& node) {
    ir::for_each_subgraph(node, [&](ir::Graph& inner, std::size_t) {
      for (ir::Node& deeper : inner.nodes) bind_attributes(deeper);
    });
    std::vector<ir::Attribute> attributes;
    for (ir::Attribute& attribute : node.attributes) {
      if (attribute.ref_attr_name.empty()) {
        attributes.push_back(std::move(attribute));
        continue;
      }
      const auto bound = bindings_.find(attribute.ref_attr_name.view());
      if (bound == bindings_.end() || !bound->second) continue;  // left out, so that the default of the operator counts
      ir::Attribute& given = attributes.emplace_back(ir::clone(*bound->second));
      given.name = attribute.name;
    }
    node.attributes = std::move(attributes);
  }

  /// A graph inside a copied node: its own values get new names, those of the body the names that they have outside.
  void settle(ir::Graph& inner) {
    rename_own(inner);
    Outside outside;
    for (std::size_t i = 0; i < body_.values.size(); ++i) {
      const std::string_view name = body_.values[i].name.view();
      if (mentions(inner, name)) outside.emplace(name, there(ValueId{static_cast<std::uint32_t>(i)}));
    }
    redirect(inner, outside);
  }

  using Outside = std::unordered_map<std::string_view, ValueId>;

  static bool mentions(const ir::Graph& inner, std::string_view name) {
    if (inner.find(name) != ValueId::none) return true;
    for (const ir::Node& node : inner.nodes) {
      bool found = false;
      ir::for_each_subgraph(node,
                            [&](const ir::Graph& deeper, std::size_t) { found = found || mentions(deeper, name); });
      if (found) return true;
    }
    return false;
  }

  /// Precondition: no value that the graph defines has a name of the body.
  void redirect(ir::Graph& inner, const Outside& outside) {
    std::unordered_map<ValueId, ValueId> moved;  // here, and outside
    for (std::size_t i = 0; i < inner.values.size(); ++i)
      if (const auto found = outside.find(inner.values[i].name.view()); found != outside.end())
        moved.emplace(ValueId{static_cast<std::uint32_t>(i)}, found->second);
    // All old names go before a new one comes: one value's name outside may be another's in the body.
    for (const auto& [here, there] : moved) inner.rename(here, names_.make("unused"));
    for (auto& [here, there] : moved)
      if (there != ValueId::none) there = inner.intern(graph_.values[index_of(there)].name);
    const auto follow = [&](ValueId& id) {
      if (const auto found = moved.find(id); found != moved.end()) id = found->second;
    };
    for (ir::Node& node : inner.nodes) {
      std::for_each(node.inputs.begin(), node.inputs.end(), follow);
      ir::for_each_subgraph(node, [&](ir::Graph& deeper, std::size_t) { redirect(deeper, outside); });
    }
    for (ir::ValueInfo& output : inner.outputs) follow(output.value);
  }

  void rename_own(ir::Graph& inner) {
    ir::Renames own;
    for (const ValueId id : defined_values(inner)) own.emplace(inner.name_of(id), names_.make(inner.name_of(id)));
    ir::rename_values(inner, own);
    for (ir::Node& node : inner.nodes)
      ir::for_each_subgraph(node, [&](ir::Graph& deeper, std::size_t) { rename_own(deeper); });
  }

  static std::vector<ValueId> defined_values(const ir::Graph& graph) {
    std::vector<ValueId> values;
    for (const ir::ValueInfo& input : graph.inputs) values.push_back(input.value);
    for (const ir::Tensor& tensor : graph.initializers) values.push_back(graph.find(tensor.name.view()));
    for (const ir::SparseTensor& sparse : graph.sparse_initializers)
      if (sparse.values) values.push_back(graph.find(sparse.values->name.view()));
    for (const ir::Node& node : graph.nodes) values.insert(values.end(), node.outputs.begin(), node.outputs.end());
    std::erase(values, ValueId::none);
    return values;
  }

  ir::Model& model_;
  ir::Graph& graph_;
  ir::FreshNames& names_;
  const ir::Graph& body_;
  const ir::Node& call_;
  const spec::AttributeBindings bindings_;
  std::vector<ValueId> there_;  ///< by value of the body
  std::vector<bool> is_known_;
  std::vector<ir::Node> made_;
};

class Inliner {
 public:
  Inliner(ir::Model& model, const FindBody& find) : model_(model), find_(find), names_(model) {
    names_.make("unused");  // looks through the model before nodes are taken out of it
    for (const auto& scope : ir::graph_scopes(model)) budget_ += more_for_each * scope->graph->nodes.size();
  }

  bool run() {
    const std::vector<ir::Graph*> graphs = outermost_graphs();
    return std::all_of(graphs.begin(), graphs.end(), [&](ir::Graph* graph) { return expand(*graph, 0); });
  }

 private:
  std::vector<ir::Graph*> outermost_graphs() {
    std::vector<ir::Graph*> graphs;
    if (model_.graph) graphs.push_back(model_.graph.get());
    for (ir::TrainingInfo& training : model_.training_infos)
      for (ir::Graph* graph : {training.initialization.get(), training.algorithm.get()})
        if (graph) graphs.push_back(graph);
    return graphs;
  }

  bool expand(ir::Graph& graph, std::size_t depth) {
    std::vector<ir::Node> old = std::move(graph.nodes), nodes;
    graph.nodes.clear();
    bool is_whole = true;
    for (ir::Node& node : old) is_whole = is_whole && place(graph, std::move(node), nodes, depth);
    graph.nodes = std::move(nodes);
    return is_whole;
  }

  bool place(ir::Graph& graph, ir::Node node, std::vector<ir::Node>& nodes, std::size_t depth) {
    if (depth > most_depth || budget_-- == 0) return false;
    if (const ir::Function* function = find_(node)) {
      add_imports(*function);
      std::vector<ir::Node> body = InlinedCall(model_, graph, names_, *function, node).nodes();
      return std::all_of(body.begin(), body.end(),
                         [&](ir::Node& one) { return place(graph, std::move(one), nodes, depth + 1); });
    }
    bool is_whole = true;
    ir::for_each_subgraph(node,
                          [&](ir::Graph& inner, std::size_t) { is_whole = is_whole && expand(inner, depth + 1); });
    nodes.push_back(std::move(node));
    return is_whole;
  }

  void add_imports(const ir::Function& function) {
    for (const ir::OpsetImport& import : function.opset_imports) {
      if (ir::opset_of(model_.opset_imports, ir::canonical_domain(import.domain))) continue;
      ir::OpsetImport& added = model_.opset_imports.emplace_back();
      added.domain = model_.keep(import.domain.view());
      added.version = import.version;
    }
  }

  ir::Model& model_;
  const FindBody& find_;
  ir::FreshNames names_;
  std::size_t budget_ = more_nodes;
};

}  // namespace

Result<void> inline_bodies(ir::Model& model, const FindBody& find) {
  if (Inliner(model, find).run()) return {};
  return make_error("unsupported-operator", "functions of the model call one another too deep or too often");
}

}  // namespace onnxkit::legalize
